/** Embedding and moderation models that the configuration binds to a server, in services of their own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { type Handler, sendJson, startServer } from '../fixtures/upstream-server.ts';
import { startService } from '../spawned-service.ts';

const MODEL = 'embed-large-en-v1.5';

/** An upstream that scores every text with a little violence. */
const wary: Handler = ({ body }, response) => {
  const scores = { hate: 0, 'hate/threatening': 0.25, violence: 0.5 };
  sendJson(response, 200, { results: ((body?.['input'] ?? []) as string[]).map(() => ({ category_scores: scores })) });
};

/** The `backend` field of a model object. */
async function modelBackend(client: OpenAI): Promise<Record<string, unknown>> {
  const model = await client.models.retrieve('moderation-v1');
  return Object.fromEntries(Object.entries(model))['backend'];
}

describe('openai: embeddings on a server, and under an alias', () => {
  /** An upstream whose vectors encode the length of the text. */
  const lengths: Handler = ({ path, body }, response) => {
    if (path !== '/v1/embeddings') return sendJson(response, 404, {});
    const lengthVector = (text: string) => [text.length, 1, ...Array(1022).fill(0)];
    const data = ([body?.['input']].flat() as string[]).map((text, index) => ({
      index,
      embedding: lengthVector(text),
    }));
    sendJson(response, 200, { data, usage: { prompt_tokens: 42, total_tokens: 42 } });
  };
  const bound = (baseUrl: string) =>
    [
      'models:',
      `  ${MODEL}: {base_urls: ['${baseUrl}'], upstream_model: embedder-1, api_key: secret}`,
      `  text-embedding-3-small: {alias: ${MODEL}}`,
    ].join('\n');

  it('are the normalized vectors of the upstream, with its usage', async () => {
    const server = await startServer(lengths);
    const service = await startService({ config: bound(server.baseUrl) });
    try {
      const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 });
      for (const model of [MODEL, 'text-embedding-3-small']) {
        const { data, usage } = await client.embeddings.create({ input: ['a', 'abc'], model });
        assert.deepEqual(
          data.map(({ embedding }) => Math.round(embedding[0]! / embedding[1]!)),
          [1, 3],
        );
        assert.equal(usage.prompt_tokens, 42);
      }
      const { backend } = (await client.models.retrieve(MODEL)) as unknown as { backend: object };
      assert.deepEqual(backend, { engine: 'upstream', model: 'embedder-1', parameters: null, ready: true });
      assert.deepEqual(await service.stop(), { code: 0, signal: null });
    } finally {
      await service.kill();
      await server.close();
    }
  });

  it('stop the start when the upstream returns vectors of another length', async () => {
    const server = await startServer((_request, response) =>
      sendJson(response, 200, { data: [{ index: 0, embedding: Array(768).fill(1) }] }),
    );
    try {
      await assert.rejects(startService({ config: bound(server.baseUrl) }), /768 floats/);
    } finally {
      await server.close();
    }
  });
});

describe('openai: moderations on a server, and under an alias', () => {
  it('are the scores of the upstream in our categories', async () => {
    const server = await startServer(wary);
    const models = [
      'models:',
      `  moderation-v1: {base_urls: ['${server.baseUrl}'], upstream_model: judge-1, api_key: secret}`,
      '  text-moderation-latest: {alias: moderation-v1}',
    ];
    const service = await startService({ config: models.join('\n') });
    try {
      const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 });
      for (const model of ['omni-moderation-latest', 'text-moderation-latest']) {
        const { results } = await client.moderations.create({ input: ['a', 'b'], model });
        assert.equal(results.length, 2);
        assert.equal(results[1]?.category_scores.hate, 0.25);
        assert.equal(results[1]?.categories.violence, true);
        assert.equal(results[1]?.flagged, true);
      }
      const post = server.requests.find(({ method }) => method === 'POST');
      assert.deepEqual(post?.body, { model: 'judge-1', input: ['a', 'b'] });
      assert.equal(post?.headers.authorization, 'Bearer secret');
      assert.deepEqual(await modelBackend(client), {
        engine: 'upstream',
        model: 'judge-1',
        parameters: null,
        ready: true,
      });
      assert.deepEqual(await service.stop(), { code: 0, signal: null });
    } finally {
      await service.kill();
      await server.close();
    }
  });

  it('the bundled model is ready at the start and stops with the service', async () => {
    const service = await startService();
    try {
      const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 });
      const { parameters, ...backend } = await modelBackend(client);
      assert.deepEqual(backend, { engine: 'bundled', model: 'quire-moderation-1', ready: true });
      assert.ok(Number(parameters) > 1_000_000);
      assert.deepEqual(await service.stop(), { code: 0, signal: null });
    } finally {
      await service.kill();
    }
  });
});
