import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DOWNLOADABLE_MODELS, RETRIEVAL_MODELS, suggestRetrievalModels } from '../downloads/downloadable-models.ts';
import { bindOffered, defaultRetrievalIds } from './bind-generation.ts';
import type { BindingChanges } from './store.ts';

/** Fake bindings in which the configuration binds these ids. Records the changes. */
function recordingBindings(...bound: string[]) {
  const changes: BindingChanges[] = [];
  return {
    changes,
    chosenBy: (id: string) => (bound.includes(id) ? ('configuration' as const) : ('default' as const)),
    defaultGenerationIds: () => ['general-8b', 'code-latest'],
    rebind: async (change: BindingChanges) => void changes.push(change),
  };
}

describe('bindOffered', () => {
  const by = 'operator';
  for (const { model, bound, expected } of [
    { model: 'qwen3-embedding-0.6b', bound: [], expected: ['embed-large-en-v1.5'] },
    { model: 'bge-reranker-v2-m3', bound: ['embed-large-en-v1.5'], expected: ['reranker-v2-m3'] },
    { model: 'qwen3-embedding-0.6b', bound: ['embed-large-en-v1.5'], expected: [] },
    { model: 'qwen2.5-1.5b', bound: [], expected: ['general-8b', 'code-latest'] },
  ]) {
    it(`binds ${model} to ${expected.join(' and ') || 'nothing'} where ${bound.join() || 'nothing'} is bound`, async () => {
      const bindings = recordingBindings(...bound);
      await bindOffered(bindings, [model]);
      assert.deepEqual(bindings.changes, [Object.fromEntries(expected.map((id) => [id, { model, by }]))]);
    });
  }

  it('binds a set in one step', async () => {
    const bindings = recordingBindings();
    await bindOffered(bindings, ['bge-reranker-v2-m3', 'qwen2.5-1.5b', 'qwen3-embedding-0.6b'], 'first-start');
    const model = (name: string) => ({ model: name, by: 'first-start' });
    assert.deepEqual(bindings.changes, [
      {
        'reranker-v2-m3': model('bge-reranker-v2-m3'),
        'general-8b': model('qwen2.5-1.5b'),
        'code-latest': model('qwen2.5-1.5b'),
        'embed-large-en-v1.5': model('qwen3-embedding-0.6b'),
      },
    ]);
  });
});

describe('the models for retrieval that are offered', () => {
  const names = ['qwen3-embedding-0.6b', 'bge-reranker-v2-m3'];

  it('are those of ids that only bundled models serve, from 8 GB of free memory', () => {
    const ids = defaultRetrievalIds(recordingBindings());
    assert.deepEqual(suggestRetrievalModels(ids, 8e9), names);
    assert.deepEqual(suggestRetrievalModels(ids, 8e9 - 1), []);
    assert.deepEqual(
      suggestRetrievalModels(defaultRetrievalIds(recordingBindings('reranker-v2-m3')), 8e9),
      names.slice(0, 1),
    );
  });

  it('can be pulled by name, suit their ids and have the licence Apache-2.0', () => {
    for (const [id, name] of Object.entries(RETRIEVAL_MODELS)) {
      const model = DOWNLOADABLE_MODELS.find((one) => one.name === name);
      assert.deepEqual([model?.licence, model?.suits], ['Apache-2.0', [id]]);
    }
  });
});
