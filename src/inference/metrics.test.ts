import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { callMetrics } from './metrics.ts';

/** The samples of a registry as Prometheus reads them, without comments. */
const samples = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 2 };

describe('callMetrics', () => {
  it('counts generations of chats and completions together, with their tokens', async () => {
    const registry = new Registry();
    const [chat, completion] = [callMetrics(registry, 'chat'), callMetrics(registry, 'completion')];
    chat.started();
    chat.started();
    completion.started();
    chat.ended({ model: 'a', outcome: 'completed', usage, inputs: 1 });
    completion.ended({ model: 'a', outcome: 'failed', usage, inputs: 1 });
    assert.deepEqual(await samples(registry), [
      'quire_generations_in_flight 1',
      'quire_generations_total{model="a",outcome="completed"} 1',
      'quire_generations_total{model="a",outcome="failed"} 1',
      'quire_tokens_total{model="a",kind="prompt"} 14',
      'quire_tokens_total{model="a",kind="completion"} 4',
    ]);
  });

  it('counts calls of each other kind apart, with their texts and the tokens that were read', async () => {
    const registry = new Registry();
    callMetrics(registry, 'rerank').started();
    const embedding = callMetrics(registry, 'embedding');
    embedding.started();
    embedding.ended({ model: 'b', outcome: 'cancelled', usage, inputs: 5 });
    assert.deepEqual(await samples(registry), [
      'quire_reranks_in_flight 1',
      'quire_embeddings_in_flight 0',
      'quire_embeddings_total{model="b",outcome="cancelled"} 1',
      'quire_embedding_texts_total{model="b"} 5',
      'quire_embedding_tokens_total{model="b"} 7',
    ]);
  });
});
