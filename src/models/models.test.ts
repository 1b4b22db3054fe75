import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import { listSchema } from '../db/page.ts';
import { viewModel } from './find-model.ts';
import { Model } from './schema.ts';

describe('GET /v1/models', () => {
  const api = useApi();

  it('200 with every id of the interface, whole', async () => {
    const { json } = await api.send('GET', '/v1/models');
    assertSchema(listSchema(Model), json);
    assert.deepEqual(
      json.data.map((model: { id: string }) => model.id),
      [
        ...['general-70b', 'general-8b', 'multilingual-32b', 'instruct-7b', 'reasoning-distill-70b', 'code-latest'],
        ...['embed-large-en-v1.5', 'reranker-v2-m3', 'moderation-v1'],
      ],
    );
    assert.equal(json.has_more, false);
  });

  it('shows the smaller context of contract and engine, and what answers', async () => {
    const { json } = await api.send('GET', '/v1/models/general-70b');
    assert.equal(json.context_length, 4096);
    assert.deepEqual(json.backend, { engine: 'local', model: 'scripted', parameters: 1, ready: true });
    assert.ok(json.pricing.prompt > 0 && json.pricing.completion > 0);
  });

  it('has no day of its removal unless one is announced', async () => {
    assert.equal((await api.send('GET', '/v1/models/general-8b')).json.shutdown_date, null);
    const model = viewModel({ ...servedModel(scriptedEngine(4_096)), shutdownDate: '2027-03-31' });
    assertSchema(Model, model);
    assert.equal(model.shutdown_date, '2027-03-31');
  });

  it('says of an id that nothing serves that it is not ready', async () => {
    const { json } = await api.send('GET', '/v1/models/embed-large-en-v1.5');
    assert.equal(json.backend.ready, false);
    assert.equal(json.capabilities.chat_completion, false);
  });

  it('pages by limit and after without losing or repeating one', async () => {
    const ids: string[] = [];
    let after = '';
    for (let hasMore = true; hasMore; ) {
      const { json } = await api.send('GET', `/v1/models?limit=4${after && `&after=${after}`}`);
      ids.push(...json.data.map((model: { id: string }) => model.id));
      assert.equal(json.last_id, json.data.at(-1).id);
      after = json.last_id;
      hasMore = json.has_more;
    }
    assert.equal(new Set(ids).size, 9);
    assert.equal(ids.length, 9);
  });

  it('400 for a limit outside 1..100 and for a cursor of no model', async () => {
    for (const limit of ['0', '101', '-1', 'ten', '1.5', '']) {
      assertError(await api.send('GET', `/v1/models?limit=${limit}`), 400, 'invalid_value', 'limit');
    }
    assertError(await api.send('GET', '/v1/models?after=nothing'), 400, 'invalid_value', 'after');
  });

  it('404 model_not_found with param model_id', async () => {
    assertError(await api.send('GET', '/v1/models/gpt-99'), 404, 'model_not_found', 'model_id');
  });

  it('401 without a key, any key will do', async () => {
    assertError(await api.send('GET', '/v1/models', { key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: [] });
    assert.equal((await api.send('GET', '/v1/models', { key })).status, 200);
  });
});
