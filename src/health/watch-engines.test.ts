import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Registry } from 'prom-client';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import { ModelRegistry } from '../engines/registry.ts';
import { createLogger } from '../lib/logger.ts';
import { watchEngines } from './watch-engines.ts';

it('a dead engine is 0 in the metrics for each of its models, and logged once until it answers again', async (t) => {
  const [dead, alive] = [scriptedEngine(), scriptedEngine()];
  const model = (id: string, engine: typeof dead) => ({ ...servedModel(engine), id });
  const models = new ModelRegistry([model('a', dead), model('b', dead), model('c', alive)]);
  const metrics = new Registry();
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  let error: Error | null = new Error('The weights are gone.');
  const probe = t.mock.method(dead, 'check', async () => {
    if (error !== null) throw error;
  });
  const up = async () => {
    const { values } = (await metrics.getSingleMetric('quire_engine_up')?.get()) ?? { values: [] };
    return Object.fromEntries(values.map(({ labels, value }) => [labels['model'], value]));
  };
  const watch = watchEngines({ models, metrics, logger });
  t.after(() => watch.stop());
  /** Runs one more check to its end: the next one starts afterwards. */
  const check = async () => {
    for (const target = probe.mock.callCount() + 2; probe.mock.callCount() < target; await new Promise(setImmediate))
      watch.trigger();
  };
  await check();
  await check();
  assert.deepEqual(await up(), { a: 0, b: 0, c: 1 });
  const logged = () => lines.map((line) => JSON.parse(line)).map(({ msg, models: ids, error: why }) => [msg, ids, why]);
  const failed = ['model engine does not answer', ['a', 'b'], 'The weights are gone.'];
  assert.deepEqual(logged(), [failed]);
  error = null;
  await check();
  assert.deepEqual(logged(), [failed, ['model engine answers again', ['a', 'b'], undefined]]);
  models.replace([model('b', dead)]);
  await check();
  assert.deepEqual(await up(), { b: 1 });
});
