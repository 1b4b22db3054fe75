import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { main } from './main.ts';

const ROOT = new URL('../', import.meta.url);

describe('quire --version', () => {
  it('prints the version of package.json, which CHANGELOG.md has a section for', async (t) => {
    const log = t.mock.method(console, 'log', () => {});
    assert.equal(await main(['--version']), 0);
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string };
    assert.deepEqual(log.mock.calls[0]?.arguments, [version]);
    const changelog = readFileSync(new URL('CHANGELOG.md', ROOT), 'utf8');
    const isListed = changelog.includes(`\n## [${version}] - `) || changelog.includes(`\n\nBecomes ${version}.\n`);
    assert.ok(isListed, `CHANGELOG.md has no section for ${version}`);
  });
});
