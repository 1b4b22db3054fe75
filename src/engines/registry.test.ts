import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import {
  knownContextTokens,
  ModelRegistry,
  modelBackend,
  modelContextTokens,
  modelRuntime,
  type ServedModel,
} from './registry.ts';

const named = (id: string, model: ServedModel): ServedModel => ({ ...model, id });

/** An engine that reports that number of evictions. */
function engineWith(evictions: number) {
  const engine = scriptedEngine();
  engine.cache = { bytes: 0, entries: 0, evictions };
  return engine;
}

/** Evictions of all models. */
const countEvictions = (registry: ModelRegistry): number =>
  [...registry.cacheUsageByModel().values()].reduce((sum, { evictions }) => sum + evictions, 0);

describe('ModelRegistry.replace', () => {
  it('serves the new models only, and returns the engines that serve nothing any more, each once', () => {
    const [leaving, staying] = [scriptedEngine(), scriptedEngine()];
    const registry = new ModelRegistry([
      named('a', servedModel(leaving)),
      named('b', servedModel(leaving)),
      named('c', servedModel(staying)),
    ]);
    const closable = registry.replace([named('d', servedModel(staying))]);
    assert.equal(closable.length, 1);
    assert.equal(closable[0], leaving);
    assert.deepEqual(
      registry.list().map(({ id }) => id),
      ['d'],
    );
    assert.equal(registry.get('a'), undefined);
  });

  it('goes on counting the evictions of engines that serve nothing any more, once', () => {
    const [leaving, staying] = [engineWith(5), engineWith(2)];
    const registry = new ModelRegistry([named('a', servedModel(leaving)), named('b', servedModel(staying))]);
    registry.replace([named('b', servedModel(staying))]);
    assert.equal(countEvictions(registry), 7);
    registry.replace([named('b', servedModel(staying))]);
    assert.equal(countEvictions(registry), 7);
    registry.replace([named('a', servedModel(engineWith(1)))]);
    assert.equal(countEvictions(registry), 8);
  });
});

describe('a served model', () => {
  it('has the smaller context of the contract and the engine, and the contract where nothing generates', () => {
    assert.equal(modelContextTokens(servedModel(scriptedEngine(4096), 8192)), 4096);
    assert.equal(modelContextTokens(servedModel(scriptedEngine(8192), 4096)), 4096);
    assert.equal(modelContextTokens({ ...servedModel(scriptedEngine(1024), 4096), engine: null }), 4096);
  });

  it('shows a context of 8192 tokens while nobody knows it, which limits nothing', () => {
    const unknown = { ...servedModel(scriptedEngine(4096)), maxContextTokens: null, engine: null };
    assert.deepEqual([modelContextTokens(unknown), knownContextTokens(unknown)], [8192, null]);
  });

  it('uses the engine of its kind, and is not ready without one', () => {
    const { engine: _engine, ...model } = servedModel(scriptedEngine());
    const runtime = scriptedEngine();
    const of = (kind: object) => modelRuntime({ ...model, engine: null, ...kind });
    assert.equal(of({ engine: runtime }), runtime);
    for (const kind of ['moderation', 'embedding', 'rerank']) assert.equal(of({ [kind]: runtime }), runtime);
    assert.equal(of({}), null);
    assert.equal(modelBackend({ ...model, engine: null }).ready, false);
  });
});
