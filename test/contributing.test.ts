/** Checks that files, exports and scripts named by CONTRIBUTING.md and the workflows exist. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, it } from 'node:test';
import { parseSync } from 'oxc-parser';
import { parse } from 'yaml';
import { readGuides } from './guides.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const exists = (path: string) => existsSync(new URL(path, ROOT));
const GUIDE = read('CONTRIBUTING.md');
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: ROOT.pathname });

/** Files added by the examples, by path. */
const EXAMPLES = new Map(
  [...GUIDE.matchAll(/```ts\n *\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, path = '', code = '']) => [path, code]),
);

/** Names declared by the examples. */
const DECLARED = new Set(
  [...GUIDE.matchAll(/^ *export (?:const|(?:async )?function) (\w+)/gm)].map(([, name]) => name),
);

/** Lists the exports of a module. */
function exportsOf(path: string): Set<string | null> {
  const { module } = parseSync(path, read(path));
  return new Set(module.staticExports.flatMap(({ entries }) => entries.map(({ exportName }) => exportName.name)));
}

describe('CONTRIBUTING.md', () => {
  it('names files and folders that exist', () => {
    const paths = [...GUIDE.matchAll(/`((?:src|test|tools|docs|deploy)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    assert.ok(paths.length > 10);
    assert.deepEqual(
      paths.filter((path) => !exists(path)),
      [],
    );
  });

  it('imports in its examples what the tree exports', () => {
    assert.ok(EXAMPLES.size >= 2);
    const missing: string[] = [];
    for (const [path, code] of EXAMPLES) {
      const { module, errors } = parseSync(path, code);
      assert.deepEqual(errors, [], path);
      for (const { moduleRequest, entries } of module.staticImports) {
        if (!moduleRequest.value.startsWith('.')) continue;
        const target = posix.join(posix.dirname(path), moduleRequest.value);
        const exported = exists(target) ? exportsOf(target) : new Set();
        for (const { importName } of entries) {
          const isThere = exported.has(importName.name) || DECLARED.has(importName.name ?? '');
          if (!isThere) missing.push(`${path}: ${importName.name} of ${target}`);
        }
      }
    }
    assert.deepEqual(missing, []);
  });
});

describe('docs/develop/guides.md', () => {
  for (const { title, diff } of readGuides()) {
    it(`${title}: the diff applies`, () => {
      execFileSync('git', ['apply', '--check', '-'], { cwd: ROOT, input: diff, stdio: 'pipe' });
    });
  }
});

describe('npm scripts', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const path of ['CONTRIBUTING.md', 'docs/use/install.md', ...WORKFLOWS]) {
    it(`${path} runs scripts that exist`, () => {
      const called = [...read(path).matchAll(/npm run (?:-s )?([a-z][\w:-]*\w)/g)].map(([, name = '']) => name);
      const named = called.filter((name) => name !== 'eval');
      assert.deepEqual(
        named.filter((name) => !(name in scripts)),
        [],
      );
    });
  }
});

describe('workflows', () => {
  for (const path of WORKFLOWS) {
    it(`${path} pins its actions by commit and may only read`, () => {
      assert.deepEqual((parse(read(path)) as { permissions: unknown }).permissions, { contents: 'read' });
      const actions = [...read(path).matchAll(/uses: (.+)$/gm)].map(([, action = '']) => action);
      assert.ok(actions.length > 0);
      for (const action of actions) assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    });
  }
});
