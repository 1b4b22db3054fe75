import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { freeBytes, MIN_FREE_BYTES, requireWritable } from './writable-folder.ts';

describe('requireWritable', () => {
  let folder = '';
  let free = MIN_FREE_BYTES;
  const statfs = mock.fn(async () => ({ bavail: free / 4096, bsize: 4096 }));
  beforeEach(async () => {
    folder = await fs.mkdtemp(join(tmpdir(), 'quire-writable-'));
    statfs.mock.resetCalls();
    mock.method(fs, 'statfs', statfs);
    syncBuiltinESMExports();
  });
  afterEach(async () => {
    mock.restoreAll();
    syncBuiltinESMExports();
    await fs.rm(folder, { recursive: true, force: true });
  });

  it('accepts a writable folder with free space, and removes its probe', async () => {
    free = MIN_FREE_BYTES;
    await requireWritable(folder);
    assert.deepEqual(await fs.readdir(folder), []);
    assert.equal(await freeBytes(folder), MIN_FREE_BYTES);
  });

  it('rejects a nearly full disk, naming the free space', async () => {
    free = 10 * 1024 * 1024;
    await assert.rejects(requireWritable(folder), /the disk of .* has 10 MB free, and 67 MB are needed to write/);
  });

  it('rejects a folder that is not writable', async () => {
    free = MIN_FREE_BYTES;
    await fs.rm(folder, { recursive: true });
    await assert.rejects(requireWritable(folder), /ENOENT/);
  });

  it('probes the disk at most once per second', async () => {
    free = MIN_FREE_BYTES;
    await Promise.all([requireWritable(folder), requireWritable(folder)]);
    await requireWritable(folder);
    assert.equal(statfs.mock.callCount(), 1);
  });
});
