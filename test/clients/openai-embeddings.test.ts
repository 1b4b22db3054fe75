import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { type Handler, sendJson, startServer } from '../fixtures/upstream-server.ts';
import { startService } from '../spawned-service.ts';
import { assertMeaningful, useBackends } from './backends.ts';

const MODEL = 'embed-large-en-v1.5';
const TEXTS = ['How do I change my password?', 'Resetting your password', 'Volcanoes and how they erupt'];

const backends = useBackends();

describe('openai: embeddings', () => {
  it("are 1,024 floats per text, equal in base64 (the client's default) and float", async () => {
    const { embeddings } = backends.openai();
    const answer = await embeddings.create({ model: MODEL, input: TEXTS });
    const floats = await embeddings.create({ model: MODEL, input: TEXTS, encoding_format: 'float' });
    assert.deepEqual(answer.data, floats.data);
    assert.deepEqual(answer.usage, floats.usage);
    assert.ok(answer.usage.prompt_tokens > 10);
    assert.deepEqual(
      answer.data.map(({ index, embedding }) => [index, embedding.length]),
      [
        [0, 1024],
        [1, 1024],
        [2, 1024],
      ],
    );
    assertMeaningful(answer.data.map(({ embedding }) => embedding));
  });

  it('are returned for a thousand texts in order', async () => {
    const input = Array.from({ length: 1000 }, (_, i) => `Text number ${i}`);
    const { data } = await backends.openai().embeddings.create({ model: MODEL, input });
    const [alone] = (await backends.openai().embeddings.create({ model: MODEL, input: 'Text number 731' })).data;
    assert.equal(data.length, 1000);
    assert.deepEqual(data[731]?.embedding, alone?.embedding);
  });

  it('tell what is wrong as errors of the client', async () => {
    const { embeddings } = backends.openai();
    const refused = async (params: Partial<OpenAI.EmbeddingCreateParams>, code: string, param: string) =>
      assert.rejects(embeddings.create({ model: MODEL, input: 'a', ...params }), (error) => {
        assert.ok(error instanceof OpenAI.APIError);
        assert.deepEqual([error.code, error.param], [code, param]);
        return true;
      });
    await refused({ input: ' ' }, 'invalid_value', 'input');
    await refused({ input: 'word '.repeat(2049) }, 'token_limit_exceeded', 'input');
    await refused({ input: [[1, 2, 3]] }, 'invalid_value', 'input');
    await refused({ dimensions: 256 }, 'invalid_value', 'dimensions');
    await refused({ model: 'text-embedding-3-small' }, 'model_not_found', 'model');
  });
});

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
