import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { callMetrics } from './metrics.ts';

/** The samples of a registry as Prometheus reads them, without comments. */
const samples = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => /^quire_(?!call_queue)/.test(line));

const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 2 };

describe('callMetrics', () => {
  it('counts generations of chats and completions together, with their tokens', async () => {
    const registry = new Registry();
    const [chat, completion] = [callMetrics(registry, 'chat'), callMetrics(registry, 'completion')];
    chat.started();
    chat.started();
    completion.started();
    chat.ended({ model: 'a', outcome: 'completed', usage, inputs: 1, queueMs: 300 });
    completion.ended({ model: 'a', outcome: 'failed', usage, inputs: 1, queueMs: 300 });
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
    embedding.ended({ model: 'b', outcome: 'cancelled', usage, inputs: 5, queueMs: 300 });
    assert.deepEqual(await samples(registry), [
      'quire_reranks_in_flight 1',
      'quire_embeddings_in_flight 0',
      'quire_embeddings_total{model="b",outcome="cancelled"} 1',
      'quire_embedding_texts_total{model="b"} 5',
      'quire_embedding_tokens_total{model="b"} 7',
    ]);
  });

  it('measures the queue time of completed calls by model, and of no other call', async () => {
    const registry = new Registry();
    const chat = callMetrics(registry, 'chat');
    const ended = { model: 'a', usage, inputs: 1 };
    chat.ended({ ...ended, outcome: 'completed', queueMs: 300 });
    chat.ended({ ...ended, outcome: 'cancelled', queueMs: 70_000 });
    callMetrics(registry, 'rerank').ended({ ...ended, outcome: 'completed', queueMs: 2_000 });
    const text = await registry.metrics();
    assert.match(text, /quire_call_queue_seconds_sum\{model="a"\} 2\.3\n/);
    assert.match(text, /quire_call_queue_seconds_bucket\{le="0\.5",model="a"\} 1\n/);
  });
});
