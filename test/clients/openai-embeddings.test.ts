import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
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
