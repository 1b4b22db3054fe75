import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase } from '../../../test/database.ts';
import type { Database } from '../../db/db.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { modelPath } from '../downloads/model-files.ts';
import { importBindingsFile } from './import-bindings-file.ts';
import { findOverride, resolveBinding } from './resolve-binding.ts';
import { selectBindings, selectBindingsVersion, updateBindings } from './store.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quire-bindings-'));
const operator = (model: string) => ({ model, by: 'operator' as const });
let db: Database;
before(async () => {
  db = await openTestDatabase();
});
after(async () => {
  await db.close();
  rmSync(dataDir, { recursive: true });
});

describe('stored model bindings', () => {
  it('increase the version with every change, and never reset initialPullDone', async () => {
    assert.deepEqual(await selectBindings(db.sql), {
      version: 0,
      ids: {},
      retired: [],
      initialPullDone: false,
      upstreams: { servers: [], models: [] },
    });
    assert.equal(await updateBindings(db.sql, { 'general-8b': operator('a'), mine: operator('a') }, true), 1);
    assert.equal(await updateBindings(db.sql, { 'general-8b': operator('b'), mine: null, other: null }, false), 2);
    assert.equal(await selectBindingsVersion(db.sql), 2);
    const ids = { 'general-8b': operator('b') };
    assert.deepEqual(await selectBindings(db.sql), {
      version: 2,
      ids,
      retired: [],
      initialPullDone: true,
      upstreams: { servers: [], models: [] },
    });
  });
});

describe('importBindingsFile', () => {
  const path = join(dataDir, 'model-bindings.json');

  it('imports the file of an earlier version once, and keeps what the database has', async () => {
    const ids = { 'general-8b': operator('old'), 'code-latest': { model: 'c', by: 'first-start' } };
    writeFileSync(path, JSON.stringify({ version: 1, ids, first_pull_done: true }));
    await importBindingsFile(dataDir, db);
    const imported = await selectBindings(db.sql);
    assert.deepEqual(imported.ids, { 'general-8b': operator('b'), 'code-latest': { model: 'c', by: 'first-start' } });
    assert.equal(imported.version, 3);
    assert.deepEqual([existsSync(path), existsSync(`${path}.imported`)], [false, true]);
    await importBindingsFile(dataDir, db);
    assert.equal(await selectBindingsVersion(db.sql), 3);
  });

  it('throws an OperatorError for a damaged file, and leaves it', async () => {
    writeFileSync(path, '{"version": 7}');
    const isDamaged = (error: Error) =>
      error instanceof OperatorError && /model-bindings\.json is damaged/.test(error.message);
    await assert.rejects(importBindingsFile(dataDir, db), isDamaged);
    assert.ok(existsSync(path));
  });
});

describe('resolveBinding', () => {
  const NO_SETTINGS = { models: {}, upstreamUrl: null };
  const path = modelPath(dataDir, 'a');

  it('is the stored model file, with the other settings of the id', () => {
    assert.deepEqual(resolveBinding({ ...NO_SETTINGS, dataDir }, operator('a'), 'general-8b'), { file: path });
    const models = { 'general-8b': { context_length: 512 } };
    const resolved = resolveBinding({ models, upstreamUrl: null, dataDir }, operator('a'), 'general-8b');
    assert.deepEqual(resolved, { context_length: 512, file: path });
  });

  it('is overridden by the configuration file, and for generation by QUIRE_UPSTREAM_URL', () => {
    for (const set of [{ alias: 'x' }, { engine: 'bundled' as const }, { file: '/x' }, { base_urls: ['http://x'] }]) {
      const config = { models: { 'general-8b': set }, upstreamUrl: null };
      assert.equal(findOverride(config, 'general-8b'), 'configuration');
      assert.deepEqual(resolveBinding({ ...config, dataDir }, operator('a'), 'general-8b'), set);
    }
    const upstream = { models: {}, upstreamUrl: ['http://x'] };
    assert.equal(findOverride(upstream, 'general-8b'), 'environment');
    assert.equal(findOverride(upstream, 'reranker-v2-m3'), null);
  });
});
