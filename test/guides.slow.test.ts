/** Applies the guides for contributors to a copy of the checked in tree, and compiles it. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readGuides } from './guides.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Tests list the scores of all categories, so the category is compiled in the console only. */
const CATEGORY = 'Add a guardrail category';

describe('docs/develop/guides.md', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-guides-'));
    execFileSync('git', ['checkout-index', '--all', `--prefix=${folder}/`], { cwd: ROOT });
    for (const path of ['node_modules', 'console/node_modules']) symlinkSync(join(ROOT, path), join(folder, path));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const apply = (diff: string) => execFileSync('git', ['apply', '-'], { cwd: folder, input: diff });
  const run = (...script: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, script, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
    assert.equal(status, 0, stdout + stderr);
  };
  const compile = (...options: string[]) => run(join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit', ...options);

  it('compiles with every example, which keeps the architecture rules', () => {
    const guides = readGuides();
    for (const { title, diff } of guides) if (title !== CATEGORY) apply(diff);
    compile();
    run('tools/generate.ts');
    run('--test', 'test/architecture.test.ts', 'src/connectors/inline.test.ts', 'src/engines/wordlist/*.test.ts');
    for (const { title, diff } of guides) if (title === CATEGORY) apply(diff);
    run('tools/generate.ts');
    compile('-p', 'console');
  });
});
