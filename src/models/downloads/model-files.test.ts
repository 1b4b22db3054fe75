import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { findModelFile, listModelFiles, modelPath, modelsFolder, partialPath } from './model-files.ts';
import { lockPull } from './pull-lock.ts';
import { removeModelFile } from './remove-model-file.ts';

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'quire-store-'));
  mkdirSync(modelsFolder(dataDir));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

describe('the store of models', () => {
  it('has every GGUF that lies in it, also one that was put there by hand, and what came of others', async () => {
    writeFileSync(modelPath(dataDir, 'b'), 'GGUF');
    writeFileSync(modelPath(dataDir, 'a'), 'GGUF, too');
    writeFileSync(join(modelsFolder(dataDir), 'a.json'), '{"half of a');
    writeFileSync(partialPath(dataDir, 'c'), 'GG');
    const { models, unfinished } = await listModelFiles(dataDir);
    assert.deepEqual(
      models.map(({ name, bytes, card }) => [name, bytes, card]),
      [
        ['a', 9, null],
        ['b', 4, null],
      ],
    );
    assert.deepEqual(unfinished, [{ name: 'c', bytes: 2 }]);
  });

  it('is empty before anything was pulled', async () => {
    assert.deepEqual(await listModelFiles(join(dataDir, 'none')), { models: [], unfinished: [] });
  });

  it('deletes a model with its card and what came of one, and says how many bytes are free', async () => {
    writeFileSync(modelPath(dataDir, 'a'), 'GGUF');
    writeFileSync(join(modelsFolder(dataDir), 'a.json'), '{}');
    writeFileSync(partialPath(dataDir, 'a'), 'GG');
    writeFileSync(`${partialPath(dataDir, 'a')}.json`, '{}');
    assert.equal(await removeModelFile(dataDir, 'a'), 6);
    assert.deepEqual(readdirSync(modelsFolder(dataDir)), []);
    await assert.rejects(removeModelFile(dataDir, 'a'), /There is no model 'a'/);
  });

  it('reaches nothing outside of its folder', async () => {
    writeFileSync(join(dataDir, 'x.gguf'), 'GGUF');
    assert.equal(await findModelFile(dataDir, '../x'), null);
    await assert.rejects(removeModelFile(dataDir, '../x'), /There is no model/);
    assert.ok(existsSync(join(dataDir, 'x.gguf')));
  });

  it('lets one process fetch a model at a time, and nobody delete it meanwhile', async () => {
    writeFileSync(partialPath(dataDir, 'a'), 'GG');
    const path = `${partialPath(dataDir, 'a')}.lock`;
    const lock = await lockPull(path, 'a');
    await assert.rejects(lockPull(path, 'a'), /Another pull of 'a' is running/);
    await assert.rejects(removeModelFile(dataDir, 'a'), /Another pull of 'a' is running/);
    await lock.release();
    await (await lockPull(path, 'a')).release();
  });

  it('takes over the lock of a process that has ended, or has not been heard of for a minute', async () => {
    const path = `${partialPath(dataDir, 'a')}.lock`;
    // Beyond the largest number of a process.
    writeFileSync(path, '99999999');
    await (await lockPull(path, 'a')).release();
    writeFileSync(path, String(process.pid));
    utimesSync(path, new Date(), new Date(Date.now() - 120_000));
    await (await lockPull(path, 'a')).release();
    assert.ok(!existsSync(path));
  });
});
