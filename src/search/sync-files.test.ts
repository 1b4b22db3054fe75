import assert from 'node:assert/strict';
import { type FileHandle, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { FileSyncer } from './sync-files.ts';

describe('FileSyncer', () => {
  let folder = '';
  let syncs = 0;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quire-sync-'));
    await mkdir(join(folder, 'a.lance/data'), { recursive: true });
    await writeFile(join(folder, 'a.lance/data/1'), 'one');
    // Node does not export the class of file handles.
    const handle = await open(folder);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    syncs = 0;
    mock.method(prototype, 'sync', async () => {
      syncs += 1;
    });
  });
  afterEach(async () => {
    mock.restoreAll();
    await rm(folder, { recursive: true });
  });
  const table = () => join(folder, 'a.lance');

  it('syncs each new file once, and its folder', async () => {
    const syncer = new FileSyncer();
    await syncer.sync(table());
    assert.equal(syncs, 2);
    await syncer.sync(table());
    assert.equal(syncs, 2);
    await writeFile(join(table(), 'data/2'), '');
    await writeFile(join(table(), 'data/3'), '');
    await syncer.sync(table());
    assert.equal(syncs, 5);
  });

  it('syncs a file that is created again after it was deleted', async () => {
    const syncer = new FileSyncer();
    await syncer.sync(table());
    await rm(table(), { recursive: true });
    await syncer.sync(table());
    assert.equal(syncs, 2);
    await mkdir(join(table(), 'data'), { recursive: true });
    await writeFile(join(table(), 'data/1'), 'one');
    await syncer.sync(table());
    assert.equal(syncs, 4);
  });

  it('reads the synced files of one table, not of all', async () => {
    const syncer = new FileSyncer();
    for (const name of ['b', 'c', 'd']) {
      await mkdir(join(folder, `${name}.lance`));
      await writeFile(join(folder, `${name}.lance/1`), '');
    }
    await syncer.skipExisting(folder);
    const compared = new Set<string>();
    const has = Set.prototype.has;
    const note = function (this: Set<unknown>, value: unknown) {
      for (const path of this) if (String(path).startsWith(folder)) compared.add(String(path));
      return has.call(this, value);
    };
    mock.method(Set.prototype, 'has', note);
    await syncer.sync(table());
    assert.deepEqual([...compared], [join(table(), 'data/1')]);
  });

  it('skips existing files', async () => {
    const syncer = new FileSyncer();
    await syncer.skipExisting(folder);
    await syncer.sync(table());
    assert.equal(syncs, 0);
  });
});
