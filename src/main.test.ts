import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
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

describe('quire --help', () => {
  /** Runs help in this process; returns stdout and the exit code. */
  async function help(t: TestContext, ...args: string[]) {
    const log = t.mock.method(console, 'log', () => {});
    const error = t.mock.method(console, 'error', () => {});
    const code = await main(args);
    const [stdout = '', stderr = ''] = [log, error].map(({ mock }) =>
      mock.calls.flatMap((call) => call.arguments).join('\n'),
    );
    t.mock.restoreAll();
    return { code, stdout, stderr };
  }

  it('exists at every level and starts with the usage', async (t) => {
    const { code, stdout: general } = await help(t, '--help');
    assert.equal(code, 0);
    assert.match(general, /^Usage: quire <command> \[options\]\n/);
    const names = [...general.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name = '']) => name);
    assert.ok(names.length >= 11, general);
    for (const name of names) {
      const { code: groupCode, stdout } = await help(t, name, '--help');
      assert.equal(groupCode, 0);
      assert.ok(stdout.startsWith(`Usage: quire ${name} `), stdout);
      const commands = stdout.split('Commands:\n')[1] ?? '';
      assert.doesNotMatch(commands, /^ .*\.$/m);
      for (const [, word = ''] of commands.matchAll(/^ {2}([a-z-]+)/gm)) {
        const inner = await help(t, name, word, '--help');
        assert.ok(inner.stdout.startsWith(`Usage: quire ${name} ${word} `), inner.stdout);
      }
    }
  });

  it('is also `quire help`, and a usage error for a group without a command', async (t) => {
    assert.equal((await help(t, 'help', 'keys', 'create')).stdout, (await help(t, 'keys', 'create', '-h')).stdout);
    const { code, stdout, stderr } = await help(t, 'keys');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^Usage: quire keys /);
  });
});
