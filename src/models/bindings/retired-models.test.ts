import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase } from '../../../test/database.ts';
import { SHUTDOWN_ORDER } from '../../boot/shutdown-order.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import type { Database } from '../../db/db.ts';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import { Lifecycle } from '../../lib/lifecycle.ts';
import { createLogger } from '../../lib/logger.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { ModelBindings } from './model-bindings.ts';
import { deleteRetiredModels, selectBindings } from './store.ts';
import { retiredModels } from './tables.ts';

const ID = 'embed-large-en-v1.5';
const X = `it's "x"`;
const dataDir = mkdtempSync(join(tmpdir(), 'quire-retired-'));
const operator = (model: string) => ({ model, by: 'operator' as const });
const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
let db: Database;
before(async () => {
  db = await openTestDatabase();
});
after(async () => {
  await lifecycle.stop((part, error) => assert.fail(`${part}: ${error}`));
  await db.close();
  rmSync(dataDir, { recursive: true });
});

/** A process with these model files. The fingerprint of an engine is the name of its file. */
async function startProcess(files: ReadonlySet<string>) {
  const started: string[] = [];
  const closed: string[] = [];
  const startEngine = async (_kind: string, _id: string, binding: Config['models'][string] | undefined) => {
    const name = basename(binding?.file ?? 'bundled', '.gguf');
    if (name !== 'bundled' && !files.has(name)) throw new OperatorError(`There is no model '${name}'.`);
    started.push(name);
    const embedding: EmbeddingEngine = {
      backend: () => ({ engine: 'local', model: name, parameters: 1, ready: true }),
      fingerprint: () => name,
      embed: () => Promise.reject(new Error('not called')),
      countTokens: () => Promise.reject(new Error('not called')),
      check: async () => {},
      close: async () => void closed.push(name),
    };
    return { embedding };
  };
  const config = loadConfig({ QUIRE_DATA_DIR: dataDir });
  const bindings = await ModelBindings.start(
    {
      config,
      logger: createLogger('error', { write: () => true }),
      lifecycle,
      db: { ...db, listen: () => () => {} },
      engines: { startEngine, forget: async () => {} },
    },
    ['embedding'],
  );
  const model = () => bindings.registry.get(ID);
  const retired = () => (model()?.retired ?? []).map((engine) => engine.fingerprint()).sort();
  return { bindings, model, retired, started, closed, served: () => model()?.embedding?.fingerprint() };
}

describe('former embedding models', () => {
  it('run in every process until they are released, also after a restart', async () => {
    const files = new Set([X, 'y']);
    const [a, b] = [await startProcess(files), await startProcess(files)];
    const bundled = a.model()?.embedding;
    await a.bindings.rebind({ [ID]: operator(X) });
    await b.bindings.refresh();
    for (const { served, retired } of [a, b]) assert.deepEqual([served(), retired()], [X, ['bundled']]);
    assert.equal(a.model()?.retired?.[0], bundled, 'the running engine is kept');
    assert.deepEqual(b.started, ['bundled', X]);

    await b.bindings.rebind({ [ID]: operator('y') });
    await a.bindings.refresh();
    const late = await startProcess(files);
    for (const { served, retired } of [a, b, late]) assert.deepEqual([served(), retired()], ['y', ['bundled', X]]);
    assert.deepEqual(
      [a.started, b.started],
      [
        ['bundled', X, 'y'],
        ['bundled', X, 'y'],
      ],
      'no engine is started twice',
    );

    await a.bindings.rebind({ [ID]: null });
    assert.deepEqual([a.served(), a.retired()], ['bundled', [X, 'y'].sort()]);

    const [row] = await db.sql.select().from(retiredModels);
    const { version } = await selectBindings(db.sql);
    await deleteRetiredModels(db.sql, ID, new Date((row?.retiredAt.getTime() ?? 0) - 60_000));
    assert.equal((await selectBindings(db.sql)).version, version, 'recent ones stay');
    await deleteRetiredModels(db.sql, 'another id', new Date(Date.now() + 60_000));
    assert.equal((await selectBindings(db.sql)).version, version);
    await deleteRetiredModels(db.sql, ID, new Date(Date.now() + 60_000));
    assert.equal((await selectBindings(db.sql)).version, version + 1, 'other processes notice it');
    for (const { bindings, served, retired } of [a, b]) {
      await bindings.refresh();
      assert.deepEqual([served(), retired()], ['bundled', []]);
    }
  });

  it('are left out where the file is missing, and when they are bound again', async () => {
    const a = await startProcess(new Set(['x']));
    await a.bindings.rebind({ [ID]: operator('x') });
    await a.bindings.rebind({ [ID]: operator('x') });
    assert.deepEqual(a.retired(), ['bundled']);
    await a.bindings.rebind({ [ID]: null });
    const without = await startProcess(new Set());
    assert.deepEqual([without.served(), without.retired(), a.retired()], ['bundled', [], ['x']]);
    await deleteRetiredModels(db.sql, ID, new Date(Date.now() + 60_000));
  });
});
