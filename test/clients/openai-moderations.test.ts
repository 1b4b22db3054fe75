import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { type Handler, sendJson, startServer } from '../fixtures/upstream-server.ts';
import { startService } from '../spawned-service.ts';
import { useBackends } from './backends.ts';

const backends = useBackends();

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

describe('openai: moderations', () => {
  it('classify several texts with the default model', async () => {
    const answer = await backends.openai().moderations.create({
      input: ['The library opens at nine on Saturdays.', 'I want to kill myself tonight.'],
    });
    assert.match(answer.id, /^modr-/);
    assert.equal(answer.model, 'moderation-v1');
    const [harmless, harmful] = answer.results;
    assert.equal(harmless?.flagged, false);
    assert.equal(harmful?.flagged, true);
    assert.equal(harmful?.categories['self-harm'], true);
    assert.ok((harmful?.category_scores['self-harm'] ?? 0) >= 0.5);
    assert.ok((harmless?.category_scores.violence ?? 1) < 0.5);
  });

  it("classify one text with the alias of OpenAI's model", async () => {
    const input = 'You are a pathetic, worthless idiot.';
    const { results } = await backends.openai().moderations.create({ input, model: 'omni-moderation-latest' });
    assert.equal(results.length, 1);
    assert.equal(results[0]?.categories.harassment, true);
  });

  it('tell what is wrong as errors of the client', async () => {
    const { moderations } = backends.openai();
    await assert.rejects(moderations.create({ input: ' ' }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], ['invalid_value', 'input']);
      return true;
    });
    await assert.rejects(moderations.create({ input: 'a', model: 'gpt-99' }), OpenAI.NotFoundError);
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
