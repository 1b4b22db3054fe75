import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { describeEngineFailures, failingBackend } from '../../test/failing-engine.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { usageRecords } from '../billing/tables.ts';
import { embeddingsResponse, streamEmbeddingsResponse } from './response.ts';
import { EmbeddingsResponse } from './schema.ts';

const MODEL = 'embed-large-en-v1.5';
const SENTENCE = 'The library opens at nine on Saturdays.';

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

/** Decodes the floats of a base64 text. */
function decodeFloats(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

describe('POST /v1/embeddings', () => {
  const engine = bundledEmbedder();
  after(() => engine.close());
  const api = useApi(embeddedBy(engine));
  const embed = (body: object | string, key = api.key) =>
    api.send('POST', '/v1/embeddings', { body: typeof body === 'string' ? body : { model: MODEL, ...body }, key });
  const lastUsage = async () => (await api.db.sql.select().from(usageRecords)).toSorted(byId).at(-1);

  it('200 with the answer in the form of the schema and no other field, 1,024 floats of length 1', async () => {
    const { status, json } = await embed({ input: SENTENCE });
    assert.equal(status, 200);
    assertSchema(EmbeddingsResponse, json);
    assert.equal(json.model, MODEL);
    assert.deepEqual(json.usage, { prompt_tokens: 7, total_tokens: 7 });
    assert.equal(json.data.length, 1);
    assert.ok(Math.abs(Math.hypot(...json.data[0].embedding) - 1) < 1e-6);
  });

  it('200 with one vector per text in order, independent of the other texts', async () => {
    const texts = ['When does it open?', SENTENCE, 'Volcanoes erupt.', SENTENCE];
    const { json } = await embed({ input: texts });
    assertSchema(EmbeddingsResponse, json);
    for (const [index, text] of texts.entries()) {
      assert.equal(json.data[index].index, index);
      assert.deepEqual(json.data[index].embedding, (await embed({ input: text })).json.data[0].embedding);
    }
  });

  it('base64 and float return equal vectors, for few texts and many', async () => {
    for (const input of [[SENTENCE, 'a'], Array.from({ length: 100 }, (_, i) => `${SENTENCE} ${i}`)]) {
      const floats = await embed({ input, encoding_format: 'float' });
      const base64 = await embed({ input, encoding_format: 'base64' });
      assertSchema(EmbeddingsResponse, base64.json);
      const read = base64.json.data.map(({ embedding, ...rest }: { embedding: string }) => ({
        ...rest,
        embedding: decodeFloats(embedding),
      }));
      assert.deepEqual(read, floats.json.data);
      assert.deepEqual(base64.json.usage, floats.json.usage);
    }
  });

  it('200 for a text of 2,048 tokens, 400 token_limit_exceeded for one of 2,049, naming it', async () => {
    for (const word of ['library ', '東', '?']) {
      const allowed = await embed({ input: [word.repeat(2048)] });
      assert.equal(allowed.status, 200);
      assert.equal(allowed.json.usage.prompt_tokens, 2048);
      assertError(await embed({ input: word.repeat(2049) }), 400, 'token_limit_exceeded', 'input');
      const many = await embed({ input: [SENTENCE, word, word.repeat(2049), word.repeat(3000)] });
      assertError(many, 400, 'token_limit_exceeded', 'input.2');
      assert.match(many.json.error.message, /2048 tokens/);
    }
  });

  it('200 for 2,048 texts, with the tokens of all; 400 for 2,049 and for none', async () => {
    const { status, json } = await embed({ input: Array(2048).fill(SENTENCE), encoding_format: 'base64' });
    assert.equal(status, 200);
    assertSchema(EmbeddingsResponse, json);
    assert.deepEqual(json.usage, { prompt_tokens: 7 * 2048, total_tokens: 7 * 2048 });
    const more = await embed({ input: Array(2049).fill('a') });
    assertError(more, 400, 'invalid_value', 'input');
    assert.match(more.json.error.message, /2048/);
    assertError(await embed({ input: [] }), 400, 'invalid_value', 'input');
  });

  it('200 for texts in any script, with odd characters, and with unknown and null fields', async () => {
    const input = [
      '😀👩‍💻',
      'a\u0000b',
      'مرحبا بالعالم',
      '\u202eright to left',
      '東京は日本の首都です。',
      '你好世界',
      '\u200b',
    ];
    const { status, json } = await embed({ input, user: 'x', dimensions: null, encoding_format: null, truncate: true });
    assert.equal(status, 200);
    assertSchema(EmbeddingsResponse, json);
    assert.equal((await embed({ input: SENTENCE, dimensions: 1024 })).status, 200);
  });

  it('200 for blank texts in a list, with a vector of length 1 for each', async () => {
    for (const blank of ['', ' ', '  \n\t', '\u3000']) {
      const { status, json } = await embed({ input: [SENTENCE, blank, SENTENCE] });
      assert.equal(status, 200);
      assertSchema(EmbeddingsResponse, json);
      const [first, second, third] = json.data.map(({ embedding }: { embedding: number[] }) => embedding);
      assert.ok(Math.abs(Math.hypot(...second) - 1) < 1e-6);
      assert.deepEqual(first, third);
      assert.notDeepEqual(first, second);
      assert.equal((await embed({ input: [blank] })).status, 200);
    }
  });

  it('400 for a megabyte of one word, and for ten of them', async () => {
    assertError(await embed({ input: 'x'.repeat(1_000_000) }), 400, 'token_limit_exceeded', 'input');
    assertError(await embed({ input: Array(10).fill('語'.repeat(300_000)) }), 400, 'token_limit_exceeded', 'input.0');
  });

  it('400 for an input that is absent, blank or of another type, and for other dimensions and encodings', async () => {
    assertError(await embed({}), 400, 'missing_required_field', 'input');
    assertError(await embed('{"input": "a"}'), 400, 'missing_required_field', 'model');
    for (const input of [5, null, {}, true, '', '  \n\t']) {
      assertError(await embed({ input }), 400, 'invalid_value', 'input');
    }
    assertError(await embed({ input: ['a', 5] }), 400, 'invalid_value', 'input.1');
    for (const dimensions of [256, 1025, 0, '1024']) {
      assertError(await embed({ input: 'a', dimensions }), 400, 'invalid_value', 'dimensions');
    }
    for (const encoding_format of ['int8', 5]) {
      assertError(await embed({ input: 'a', encoding_format }), 400, 'invalid_value', 'encoding_format');
    }
    assertError(await embed({ input: 'half \ud800' }), 400, 'invalid_value', 'input');
    assertError(await embed('{"input": '), 400, 'invalid_json');
  });

  it('400 for token ids, naming the accepted types', async () => {
    for (const input of [
      [1, 2, 3],
      [[1, 2], [3]],
    ]) {
      const refused = await embed({ input });
      assertError(refused, 400, 'invalid_value', 'input');
      assert.match(refused.json.error.message, /a text or a list of texts; token ids are not accepted/);
    }
  });

  it('404 model_not_found for a model that is unknown or does something else', async () => {
    for (const model of ['gpt-99', 'general-8b', 'moderation-v1', 'reranker-v2-m3', '']) {
      assertError(await embed({ input: 'a', model }), 404, 'model_not_found', 'model');
    }
    assertError(await embed({ input: 'a', model: 5 }), 400, 'invalid_value', 'model');
  });

  it('401 without a key; 403 without the scope inference, and where the key is limited to other models', async () => {
    const keyless = await api.send('POST', '/v1/embeddings', { body: { input: 'a', model: MODEL }, key: null });
    assertError(keyless, 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files', 'knowledge', 'guardrails', 'admin'] });
    assertError(await embed({ input: 'a' }, key), 403, 'insufficient_scope');
    const limited = await api.makeKey({ models: ['general-8b'] });
    assertError(await embed({ input: 'a' }, limited.key), 403, 'insufficient_scope', 'model');
    const allowed = await api.makeKey({ models: [MODEL] });
    assert.equal((await embed({ input: 'a' }, allowed.key)).status, 200);
  });

  it('records usage once', async () => {
    const before = await api.db.sql.$count(usageRecords);
    await embed({ input: [SENTENCE, SENTENCE] });
    assert.equal(await api.db.sql.$count(usageRecords), before + 1);
    const { model, endpoint, promptTokens, completionTokens, outcome } = (await lastUsage())!;
    assert.deepEqual(
      { model, endpoint, promptTokens, completionTokens, outcome },
      { model: MODEL, endpoint: '/v1/embeddings', promptTokens: 14, completionTokens: 0, outcome: 'completed' },
    );
    const { text } = await api.send('GET', '/metrics');
    assert.match(text, /quire_embeddings_total\{model="embed-large-en-v1.5",outcome="completed"\} \d/);
    assert.match(text, /quire_embedding_tokens_total\{model="embed-large-en-v1.5"\} \d/);
    assert.match(text, /quire_embeddings_in_flight 0/);
  });

  it('lists the model as ready with its backend', async () => {
    const { json } = await api.send('GET', `/v1/models/${MODEL}`);
    const { parameters, ...backend } = json.backend;
    assert.deepEqual(backend, { engine: 'bundled', model: 'quire-embed-1', ready: true });
    assert.ok(parameters > 1_000_000);
    assert.equal(json.context_length, 2048);
  });
});

describe('serialization of many vectors', () => {
  it('equals the unsliced response and yields to the event loop', async () => {
    const vectors = Array.from({ length: 600 }, (_, i) => new Float32Array(1024).fill(Math.fround(1 / (i + 3))));
    const embedded = {
      organizationId: 'a',
      model: MODEL,
      vectors,
      tokens: 600,
      encoding: 'float',
      notice: null,
    } as const;
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const pieces: string[] = [];
    for await (const piece of streamEmbeddingsResponse(embedded)) pieces.push(piece);
    clearInterval(timer);
    assert.deepEqual(JSON.parse(pieces.join('')), embeddingsResponse(embedded));
    assert.ok(pieces.length > 1 && turns >= pieces.length - 2, `${turns} turns between ${pieces.length} pieces`);
  });
});

describeEngineFailures({
  path: '/v1/embeddings',
  model: MODEL,
  body: { input: 'a' },
  engine: (run) => ({
    embedding: {
      ...failingBackend,
      fingerprint: () => 'failing',
      embed: (_request, signal) => run(signal),
      countTokens: async () => [],
    },
  }),
});
