import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { tightenPermissions } from './tighten-permissions.ts';

describe('tightenPermissions', {
  skip: process.platform === 'win32' && 'Windows has no permissions of this kind',
}, () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-tighten-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const never = new AbortController().signal;
  const at = (...names: string[]) => join(folder, ...names);
  const fileMode = (...names: string[]) => lstatSync(at(...names)).mode & 0o777;
  const write = (mode: number, ...names: string[]) => {
    writeFileSync(at(...names), '');
    chmodSync(at(...names), mode);
  };

  it('removes group and other permissions at every depth, and counts the changes', async () => {
    mkdirSync(at('a/b'), { recursive: true });
    chmodSync(at('a'), 0o777);
    chmodSync(at('a/b'), 0o700);
    write(0o666, 'a/b/file');
    write(0o755, 'a/program');
    write(0o600, 'a/private');
    assert.deepEqual(await tightenPermissions([at('a')], never), {
      folders: 1,
      files: 2,
      failed: 0,
      firstFailure: null,
    });
    assert.deepEqual(
      [fileMode('a'), fileMode('a/b'), fileMode('a/b/file'), fileMode('a/program')],
      [0o700, 0o700, 0o600, 0o600],
    );
    assert.deepEqual(await tightenPermissions([at('a')], never), {
      folders: 0,
      files: 0,
      failed: 0,
      firstFailure: null,
    });
  });

  it('never adds permissions', async () => {
    write(0o444, 'state');
    await tightenPermissions([at('state')], never);
    assert.equal(fileMode('state'), 0o400);
  });

  it('does not follow symbolic links', async () => {
    mkdirSync(at('outside'), { mode: 0o755 });
    write(0o644, 'outside/file');
    mkdirSync(at('inside'));
    symlinkSync('../outside', at('inside/folder'));
    symlinkSync('../outside/file', at('inside/file'));
    await tightenPermissions([at('inside'), at('inside/folder')], never);
    assert.deepEqual([fileMode('outside'), fileMode('outside/file')], [0o755, 0o644]);
  });

  it('skips missing paths, and stops on abort', async () => {
    mkdirSync(at('many'));
    for (let i = 0; i < 1_200; i += 1) writeFileSync(at('many', `${i}`), '', { mode: 0o644 });
    assert.equal((await tightenPermissions([at('gone')], never)).failed, 0);
    const stopping = new AbortController();
    const tightened = tightenPermissions([at('many')], stopping.signal);
    stopping.abort();
    const { files } = await tightened;
    assert.ok(files > 0 && files < 1_200, String(files));
  });
});
