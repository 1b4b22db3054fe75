import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig } from '../src/config/config.ts';
import { GENERATED, missingStatements } from '../tools/generated.ts';
import './architecture/rules.test.ts';
import { findCycles } from './architecture/cycles.ts';
import { findDuplicateExports } from './architecture/duplicate-exports.ts';
import { findUndescribed } from './architecture/routes.ts';
import { RULES } from './architecture/rules.ts';
import { describeViolation } from './architecture/source.ts';
import { layoutFolders, ROOT, readTree, sourceFolders } from './architecture/tree.ts';
import { findUnusedMessages } from './architecture/unused-messages.ts';

const sources = readTree();
const read = (path: string): string => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : '');

describe('the architecture', () => {
  for (const [rule, check] of Object.entries(RULES)) {
    it(rule, () => {
      const found = sources.flatMap(check).map(describeViolation);
      assert.equal(found.length, 0, `\n${found.join('\n')}`);
    });
  }
});

describe('modules', () => {
  it('have no import cycles between the entries of any folder', () => {
    const cycles = findCycles(sources);
    const described = cycles.map(({ folder, entries, imports }) =>
      [`${folder}: ${entries.join(', ')}`, ...imports].join('\n  '),
    );
    assert.deepEqual(described, [], `\n${described.join('\n')}`);
  });
});

describe('exported names', () => {
  it('are declared by one file of src each', () => {
    const duplicates = findDuplicateExports(sources);
    const described = duplicates.map(({ name, paths }) => `${name}: ${paths.join(', ')}`);
    assert.deepEqual(described, [], `\n${described.join('\n')}`);
  });
});

describe('texts of the console', () => {
  it('are shown by a page or part each', () => assert.deepEqual(findUnusedMessages(sources), []));
});

describe('what is generated', () => {
  for (const [path, make] of Object.entries(GENERATED)) {
    it(`${path} is what npm run generate writes`, async () => {
      assert.ok(read(path) === (await make()), `${path}:1 is stale: npm run generate`);
    });
  }

  it('src/db/migrations has every table as tables.ts declares it', async () => {
    const missing = await missingStatements();
    assert.deepEqual(missing, [], 'src/db/migrations:1 is stale: npm run generate');
  });

  it('docs/openapi.json describes every operation', () => {
    assert.deepEqual(findUndescribed(JSON.parse(read('docs/openapi.json'))), []);
  });
});

describe('the documentation', () => {
  it('links only to files that exist', () => {
    const broken = globSync('{*.md,{docs,bench,examples}/**/*.md}', { cwd: ROOT }).flatMap((page) =>
      [...read(page).matchAll(/\]\((?![a-z]+:|\/|#)([^)#\s]+)/g)]
        .filter(([, link = '']) => !existsSync(join(ROOT, dirname(page), link)))
        .map(([, link]) => `${page} ${link}`),
    );
    assert.deepEqual(broken, []);
  });

  it('docs/develop/architecture.md lays out the folders of src as they are', () => {
    const named = layoutFolders(read('docs/develop/architecture.md'));
    const there = sourceFolders(sources.map(({ path }) => path));
    const unnamed = there.filter((folder) => !named.includes(folder));
    const gone = named.filter((folder) => !existsSync(join(ROOT, folder)));
    assert.deepEqual({ unnamed, gone }, { unnamed: [], gone: [] }, 'docs/develop/architecture.md:1 layout');
  });

  it('docs/use/configuration.md names every variable that src/config/config.ts knows', () => {
    const page = read('docs/use/configuration.md');
    const names = [...read('src/config/config.ts').matchAll(/'(QUIRE_[A-Z_]*[A-Z])'/g)].map(([, name = '']) => name);
    assert.ok(names.length > 0);
    assert.deepEqual(
      names.filter((name) => !page.includes(`\`${name}\``)),
      [],
    );
  });

  it('docs/use/configuration.md shows a quire.yaml that can be used', () => {
    const example = /^```yaml\n([\s\S]*?)^```/m.exec(read('docs/use/configuration.md'))?.[1] ?? '';
    const folder = mkdtempSync(join(tmpdir(), 'quire-example-'));
    try {
      const path = join(folder, 'quire.yaml');
      writeFileSync(path, example);
      const taken = [...example.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'a-value']);
      const config = loadConfig({ QUIRE_CONFIG: path, ...Object.fromEntries(taken) });
      assert.ok(Object.keys(config.models).length > 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
