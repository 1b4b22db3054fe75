import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { bindingOf, decidedBy, readBindings, writeBindings } from '../bindings.ts';
import { findModelFile, listModelFiles, modelPath, modelsFolder, partialPath, removeModelFile } from './model-files.ts';
import { lockPull } from './pull-lock.ts';

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
    await assert.rejects(lockPull(path, 'a'), /Another pull of 'a' is under way/);
    await assert.rejects(removeModelFile(dataDir, 'a'), /Another pull of 'a' is under way/);
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

describe('bindings', () => {
  const NOTHING_SET = { models: {}, upstreamUrl: null };

  it('are kept, and not taken for none where their file is damaged', async () => {
    assert.deepEqual((await readBindings(dataDir)).ids, {});
    const bindings = {
      version: 1 as const,
      ids: { 'general-8b': { model: 'a', by: 'operator' as const } },
      first_pull_done: true,
    };
    await writeBindings(dataDir, bindings);
    assert.deepEqual(await readBindings(dataDir), bindings);
    writeFileSync(join(dataDir, 'model-bindings.json'), '{"version": 7}');
    await assert.rejects(readBindings(dataDir), /model-bindings\.json is damaged/);
  });

  it('give way to the configuration file, and for text to the upstream of the environment', () => {
    const stored = { model: 'a', by: 'operator' as const };
    const text = { id: 'general-8b', isText: true };
    const path = modelPath(dataDir, 'a');
    assert.deepEqual(bindingOf({ ...NOTHING_SET, dataDir }, stored, text), { file: path });
    const priced = { models: { 'general-8b': { context_length: 512 } }, upstreamUrl: null };
    assert.deepEqual(bindingOf({ ...priced, dataDir }, stored, text), { context_length: 512, file: path });
    for (const set of [{ alias: 'x' }, { engine: 'bundled' as const }, { file: '/x' }, { base_urls: ['http://x'] }]) {
      const config = { models: { 'general-8b': set }, upstreamUrl: null };
      assert.equal(decidedBy(config, text), 'configuration');
      assert.deepEqual(bindingOf({ ...config, dataDir }, stored, text), set);
    }
    const upstream = { models: {}, upstreamUrl: ['http://x'] };
    assert.equal(decidedBy(upstream, text), 'environment');
    assert.equal(decidedBy(upstream, { id: 'reranker-v2-m3', isText: false }), null);
  });
});
