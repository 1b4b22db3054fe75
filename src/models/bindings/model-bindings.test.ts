import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { openTestDatabase } from '../../../test/database.ts';
import { scriptedEngine } from '../../../test/scripted-engine.ts';
import { SHUTDOWN_ORDER } from '../../boot/shutdown-order.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import type { Database, Sql } from '../../db/db.ts';
import { modelBackend } from '../../engines/registry.ts';
import { Lifecycle } from '../../lib/lifecycle.ts';
import { createLogger } from '../../lib/logger.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { ModelBindings } from './model-bindings.ts';
import { type StoredBindings, selectBindings } from './store.ts';
import { modelIds } from './tables.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quire-bind-'));
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

/** A process on the database: its engines are named after their model file, and `files` lists those it has. */
async function startProcess(files: Set<string>, models: Config['models'] = {}) {
  const messages: string[] = [];
  const logger = createLogger('warn', { write: (line) => messages.push(JSON.parse(line).msg) });
  const started: string[] = [];
  const engines = {
    startEngine: async (_kind: string, id: string, binding: Config['models'][string] | undefined) => {
      const name = basename(binding?.file ?? 'bundled', '.gguf');
      if (name !== 'bundled' && !files.has(name)) throw new OperatorError(`There is no model '${name}'.`);
      started.push(`${id}=${name}`);
      const engine = binding?.base_urls === undefined ? ('local' as const) : ('upstream' as const);
      const backend = { engine, model: name, parameters: 1, ready: true };
      return { engine: { ...scriptedEngine(), backend: () => backend } };
    },
    forget: async () => {},
  };
  const config = { ...loadConfig({ QUIRE_DATA_DIR: dataDir }), models };
  // Without notifications, a process applies changes only when the test calls `refresh`.
  const silent = { ...db, listen: () => () => {} };
  const bindings = await ModelBindings.start({ config, logger, lifecycle, db: silent, engines }, ['generation']);
  const served = (id: string) => {
    const model = bindings.registry.get(id);
    return model === undefined ? null : modelBackend(model).model;
  };
  const isServed = (id: string) => bindings.registry.get(id)?.engine !== null;
  return { bindings, served, isServed, started, messages };
}

describe('ModelBindings', () => {
  it('applies what another process has bound, and starts only the engines that changed', async () => {
    const [a, b] = [await startProcess(new Set(['x'])), await startProcess(new Set(['x']))];
    await a.bindings.rebind({ 'general-8b': operator('x'), mine: operator('x') });
    assert.deepEqual([a.served('general-8b'), b.served('general-8b'), b.served('mine')], ['x', 'bundled', null]);
    b.started.length = 0;
    await b.bindings.refresh();
    assert.deepEqual([b.served('general-8b'), b.served('mine'), b.bindings.chosenBy('mine')], ['x', 'x', 'command']);
    assert.deepEqual(b.started, ['general-8b=x', 'mine=x']);
    await b.bindings.rebind({ 'general-8b': null, mine: null });
    await a.bindings.refresh();
    assert.deepEqual([a.served('general-8b'), a.served('mine')], ['bundled', null]);
  });

  it('keeps the changes of two processes that change different ids', async () => {
    const [a, b] = [await startProcess(new Set(['x', 'y'])), await startProcess(new Set(['x', 'y']))];
    await Promise.all([a.bindings.rebind({ one: operator('x') }), b.bindings.rebind({ two: operator('y') })]);
    for (const { bindings } of [a, b]) await bindings.refresh();
    for (const { served } of [a, b]) assert.deepEqual([served('one'), served('two')], ['x', 'y']);
    await a.bindings.rebind({ one: null, two: null });
  });

  it('changes nothing when the engine of a changed id cannot start', async () => {
    const { bindings, served } = await startProcess(new Set());
    const { version } = await selectBindings(db.sql);
    await assert.rejects(bindings.rebind({ 'general-8b': operator('x') }), /There is no model 'x'/);
    assert.equal(served('general-8b'), 'bundled');
    assert.equal((await selectBindings(db.sql)).version, version);
  });

  it('changes nothing when the change cannot be recorded, which gets the bindings before it', async () => {
    const { bindings, served } = await startProcess(new Set(['x', 'y']));
    await bindings.rebind({ 'general-8b': operator('x') });
    const record = async (_sql: Sql, before: StoredBindings['ids']) => {
      assert.deepEqual(before['general-8b'], operator('x'));
      throw new Error('not recorded');
    };
    await assert.rejects(bindings.rebind({ 'general-8b': operator('y') }, { record }), /not recorded/);
    assert.deepEqual([served('general-8b'), (await selectBindings(db.sql)).ids['general-8b']], ['x', operator('x')]);
    await bindings.rebind({ 'general-8b': null });
  });

  it('serves no other model where it lacks the file, starts without it, and serves it once it is there', async () => {
    const files = new Set<string>();
    const [a, b] = [await startProcess(new Set(['x'])), await startProcess(files)];
    await a.bindings.rebind({ 'general-8b': operator('x') });
    await b.bindings.refresh();
    assert.deepEqual(
      [b.served('general-8b'), b.isServed('general-8b'), b.served('instruct-7b')],
      ['x', false, 'bundled'],
    );
    assert.deepEqual(b.messages, ['changed model binding could not be applied']);
    const late = await startProcess(files);
    assert.deepEqual(
      [late.served('general-8b'), late.isServed('general-8b'), late.isServed('instruct-7b')],
      ['x', false, true],
    );
    assert.match(
      late.bindings.registry.get('general-8b')?.unavailable?.reason ?? '',
      /'x' that 'general-8b' is bound to/,
    );
    files.add('x');
    for (const { bindings, served, isServed } of [b, late]) {
      await bindings.refresh();
      assert.deepEqual([served('general-8b'), isServed('general-8b')], ['x', true]);
      assert.equal(bindings.registry.get('general-8b')?.unavailable, undefined);
    }
    await a.bindings.rebind({ 'general-8b': null });
  });

  it('the day of a removal is that of the id in the configuration file, and not that of its target', async () => {
    const mine: Config['models'] = { mine: { base_urls: ['http://a/v1'], shutdown_date: '2027-03-31' } };
    const aliases = { old: { alias: 'mine', shutdown_date: '2027-01-01' }, short: { alias: 'mine' } };
    const { bindings } = await startProcess(new Set(), { ...mine, ...aliases });
    const days = ['mine', 'old', 'short', 'general-8b'].map((id) => bindings.registry.get(id)?.shutdownDate);
    assert.deepEqual(days, ['2027-03-31', '2027-01-01', undefined, undefined]);
  });

  it('images go to servers with the capability vision only, under aliases too', async () => {
    const vision: Config['models'] = { mine: { base_urls: ['http://a/v1'], capabilities: ['vision'] } };
    const others: Config['models'] = { short: { alias: 'mine' }, plain: { base_urls: ['http://a/v1'] } };
    const { bindings } = await startProcess(new Set(), { ...vision, ...others });
    const canSee = ['mine', 'short', 'plain', 'general-8b'].map((id) => bindings.registry.get(id)?.capabilities.vision);
    assert.deepEqual(canSee, [true, true, false, false]);
    for (const binding of [{ file: '/x.gguf' }, { engine: 'bundled' as const }, {}])
      await assert.rejects(
        startProcess(new Set(['x']), { mine: { ...binding, capabilities: ['vision'] } }),
        /models\.mine: the capability 'vision' needs a chat model on a server/,
      );
    const [a] = [await startProcess(new Set(['x']))];
    await a.bindings.rebind({ 'general-8b': operator('x') });
    const { bindings: later, isServed } = await startProcess(new Set(['x']), {
      'general-8b': { capabilities: ['vision'] },
    });
    assert.deepEqual([isServed('general-8b'), later.registry.get('general-8b')?.capabilities.vision], [true, false]);
    await a.bindings.rebind({ 'general-8b': null });
  });

  it('does not remove an id that an alias stands for', async () => {
    const { bindings } = await startProcess(new Set(['x']));
    await bindings.rebind({ mine: operator('x') });
    const aliased = await startProcess(new Set(['x']), { short: { alias: 'mine' } });
    assert.equal(aliased.served('short'), 'x');
    await assert.rejects(aliased.bindings.rebind({ mine: null }), /models\.short\.alias/);
    assert.ok('mine' in (await selectBindings(db.sql)).ids);
    await bindings.rebind({ mine: null });
  });

  it('an id of the operator was created when it was first bound, in any process', async () => {
    const { bindings } = await startProcess(new Set(['x']));
    await bindings.rebind({ own: operator('x') });
    const first = bindings.registry.get('own')?.createdAt ?? 0;
    assert.ok(Math.abs(first - Date.now() / 1000) < 300);
    const firstBoundAt = new Date(1_700_000_000_000);
    await db.sql.update(modelIds).set({ firstBoundAt }).where(eq(modelIds.modelId, 'own'));
    const later = await startProcess(new Set(['x']), { short: { alias: 'own' } });
    assert.equal(later.bindings.registry.get('own')?.createdAt, 1_700_000_000);
    assert.notEqual(later.bindings.registry.get('short')?.createdAt, 1_700_000_000);
    await bindings.rebind({ own: null });
  });
});
