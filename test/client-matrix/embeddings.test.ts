/** Other clients of `/v1/embeddings` against a real service. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany } from 'ai';
import { assertMeaningful, useBackends } from '../clients/backends.ts';

const MODEL = 'embed-large-en-v1.5';
const TEXTS = ['How do I change my password?', 'Resetting your password', 'Volcanoes and how they erupt'];

const backends = useBackends();

describe('other clients: embeddings', () => {
  it('work with the Vercel AI SDK, for one text and many', async () => {
    const provider = createOpenAICompatible({ name: 'quire', baseURL: backends.baseURL, apiKey: backends.service.key });
    const model = provider.embeddingModel(MODEL);
    const one = await embed({ model, value: TEXTS[0]! });
    const many = await embedMany({ model, values: TEXTS });
    assert.deepEqual(many.embeddings[0], one.embedding);
    assert.ok(one.usage.tokens > 0);
    assertMeaningful(many.embeddings);
  });

  it('work with LangChain, for documents and a query', async () => {
    const client = new OpenAIEmbeddings({
      model: MODEL,
      apiKey: backends.service.key,
      configuration: { baseURL: backends.baseURL },
    });
    const documents = await client.embedDocuments(TEXTS);
    assert.deepEqual(await client.embedQuery(TEXTS[0]!), documents[0]);
    assertMeaningful(documents);
  });
});
