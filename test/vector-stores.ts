import assert from 'node:assert/strict';
import { encodeForm, sendForm } from './forms.ts';
import type { TestApi } from './harness.ts';

/** Uploads a file as OpenAI's clients do; returns its id. */
export async function uploadFile(api: TestApi, filename: string, content: string, key = api.key): Promise<string> {
  const form = encodeForm([
    { name: 'purpose', content: 'assistants' },
    { name: 'file', filename, content },
  ]);
  const { status, json, text } = await sendForm(`${api.url}/v1/files`, form, { key });
  assert.equal(status, 200, text);
  return json.id;
}

/** Creates a store; returns its object. */
export async function makeStore(api: TestApi, body: object = {}, key = api.key) {
  const { status, json, text } = await api.send('POST', '/v1/vector_stores', { body, key });
  assert.equal(status, 200, text);
  return json;
}
