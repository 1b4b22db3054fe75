import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { insertOrganization } from '../accounts/store.ts';
import { newId } from '../lib/ids.ts';
import { GuardrailPolicy, PolicyTest } from './schema.ts';

const PATH = '/v1/guardrail-policies';

describe('/v1/guardrail-policies', () => {
  const api = useApi({
    scoreTexts: async (texts) =>
      texts.map((text) => ({
        harassment: 0,
        hate: 0,
        self_harm: 0,
        sexual: 0,
        violence: text.includes('hit') ? 0.8 : 0,
      })),
  });
  const create = (body: object | string, key: string | null = api.key) => api.send('POST', PATH, { body, key });
  const foreignKey = async () => {
    const organization = newId('organization');
    await insertOrganization(api.db.sql, organization, organization);
    return (await api.makeKey({ organization })).key;
  };

  it('POST gives the policy with all fields resolved', async () => {
    const { status, json } = await create({ name: 'Minimal' });
    assert.equal(status, 200);
    assertSchema(GuardrailPolicy, json);
    assert.match(json.id, /^gp_[0-9a-z]{26}$/);
    assert.equal(json.created_at, json.updated_at);
    const { id: _id, created_at: _created, updated_at: _updated, ...rest } = json;
    assert.deepEqual(rest, {
      object: 'guardrail_policy',
      name: 'Minimal',
      enabled: true,
      block_on_flag: true,
      thresholds: { harassment: 0.5, hate: 0.5, self_harm: 0.5, sexual: 0.5, violence: 0.5 },
      topic_deny_list: [],
      match_confusables: false,
      apply_to: ['input'],
    });
  });

  it('POST keeps every field; the limits are inclusive', async () => {
    const topics = Array.from({ length: 1_000 }, (_, i) => ({ topic: `${i}`.padEnd(256, 'x'), action: 'warn' }));
    const body = {
      name: 'n'.repeat(256),
      enabled: false,
      block_on_flag: false,
      thresholds: { harassment: 0, hate: 1, self_harm: null },
      topic_deny_list: topics,
      match_confusables: true,
      apply_to: ['input', 'output'],
    };
    const { json } = await create(body);
    assert.deepEqual(json.topic_deny_list, topics);
    assert.deepEqual(json.thresholds, { harassment: 0, hate: 1, self_harm: 0.5, sexual: 0.5, violence: 0.5 });
    assert.deepEqual(
      [json.name, json.enabled, json.block_on_flag, json.match_confusables, json.apply_to],
      [body.name, false, false, true, body.apply_to],
    );
    assert.deepEqual((await api.send('GET', `${PATH}/${json.id}`)).json, json);
  });

  it('POST replays the answer for the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await api.send('POST', PATH, { body: { name: 'Once' }, headers });
    const second = await api.send('POST', PATH, { body: { name: 'Once' }, headers });
    assert.deepEqual(second.json, first.json);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
  });

  const invalid: [body: object, param: string][] = [
    [{ name: '' }, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ name: 'a\u0000' }, 'name'],
    [{ name: 5 }, 'name'],
    [{ enabled: 'true' }, 'enabled'],
    [{ block_on_flag: 1 }, 'block_on_flag'],
    [{ thresholds: [] }, 'thresholds'],
    [{ thresholds: { hate: 1.01 } }, 'thresholds.hate'],
    [{ thresholds: { hate: -0.01 } }, 'thresholds.hate'],
    [{ thresholds: { hate: '0.5' } }, 'thresholds.hate'],
    [{ thresholds: { spam: 0.5 } }, 'thresholds.spam'],
    [{ topic_deny_list: 'war' }, 'topic_deny_list'],
    [{ topic_deny_list: Array(1_001).fill({ topic: 'a', action: 'warn' }) }, 'topic_deny_list'],
    [{ topic_deny_list: [{ topic: '', action: 'warn' }] }, 'topic_deny_list.0.topic'],
    [{ topic_deny_list: [{ topic: '  ', action: 'warn' }] }, 'topic_deny_list.0.topic'],
    [{ topic_deny_list: [{ topic: 'x'.repeat(257), action: 'warn' }] }, 'topic_deny_list.0.topic'],
    [
      {
        topic_deny_list: [
          { topic: 'a', action: 'warn' },
          { topic: 'b', action: 'deny' },
        ],
      },
      'topic_deny_list.1.action',
    ],
    [{ topic_deny_list: [{ topic: '\u200b \u00ad', action: 'warn' }] }, 'topic_deny_list.0.topic'],
    [{ match_confusables: 'true' }, 'match_confusables'],
    [{ apply_to: [] }, 'apply_to'],
    [{ apply_to: 'input' }, 'apply_to'],
    [{ apply_to: ['input', 'input'] }, 'apply_to'],
    [{ apply_to: ['inputs'] }, 'apply_to.0'],
  ];
  for (const [body, param] of invalid) {
    it(`POST and PUT reject ${JSON.stringify(body).slice(0, 60)} with 400 for ${param}`, async () => {
      assertError(await create({ name: 'x', ...body }), 400, 'invalid_value', param);
      const { json } = await create({ name: 'x' });
      assertError(await api.send('PUT', `${PATH}/${json.id}`, { body }), 400, 'invalid_value', param);
      assert.deepEqual((await api.send('GET', `${PATH}/${json.id}`)).json, json);
    });
  }

  it('POST names fields that are missing', async () => {
    assertError(await create({}), 400, 'missing_required_field', 'name');
    const body = { name: 'x', topic_deny_list: [{ topic: 'a' }] };
    assertError(await create(body), 400, 'missing_required_field', 'topic_deny_list.0.action');
    assertError(await create('{"name": '), 400, 'invalid_json');
  });

  it('PUT changes the fields that it names, merges thresholds and replaces lists', async () => {
    const created = await create({
      name: 'Before',
      thresholds: { hate: 0.2, violence: 0.3 },
      topic_deny_list: [{ topic: 'a', action: 'warn' }],
    });
    const path = `${PATH}/${created.json.id}`;
    const disabled = await api.send('PUT', path, { body: { enabled: false } });
    assert.equal(disabled.status, 200);
    assertSchema(GuardrailPolicy, disabled.json);
    assert.deepEqual({ ...disabled.json, enabled: true, updated_at: created.json.updated_at }, created.json);
    const { json } = await api.send('PUT', path, {
      body: {
        thresholds: { hate: null, sexual: 0.1 },
        topic_deny_list: [],
        match_confusables: true,
        apply_to: ['both'],
      },
    });
    assert.equal(json.match_confusables, true);
    assert.deepEqual(json.thresholds, { harassment: 0.5, hate: 0.5, self_harm: 0.5, sexual: 0.1, violence: 0.3 });
    assert.deepEqual([json.name, json.enabled, json.topic_deny_list, json.apply_to], ['Before', false, [], ['both']]);
    assert.deepEqual((await api.send('GET', path)).json, json);
  });

  it('GET lists the policies of the organization in pages, oldest first', async () => {
    const key = await foreignKey();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push((await create({ name }, key)).json.id);
    const first = await api.send('GET', `${PATH}?limit=2`, { key });
    assert.deepEqual(
      [first.json.data.map(({ id }: { id: string }) => id), first.json.has_more, first.json.last_id],
      [ids.slice(0, 2), true, ids[1]],
    );
    const second = await api.send('GET', `${PATH}?limit=2&after=${ids[1]}`, { key });
    assert.deepEqual([second.json.data[0].id, second.json.has_more], [ids[2], false]);
    const newest = await api.send('GET', `${PATH}?order=desc&after=${ids[2]}`, { key });
    assert.deepEqual(
      newest.json.data.map(({ id }: { id: string }) => id),
      [ids[1], ids[0]],
    );
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['order=up', 'order'],
      ['after=kb_1', 'after'],
    ]) {
      assertError(await api.send('GET', `${PATH}?${query}`), 400, 'invalid_value', param);
    }
  });

  it('DELETE deletes once', async () => {
    const { json } = await create({ name: 'x' });
    const path = `${PATH}/${json.id}`;
    const deleted = await api.send('DELETE', path);
    assert.deepEqual(deleted.json, { id: json.id, object: 'guardrail_policy', deleted: true });
    for (const method of ['GET', 'DELETE']) {
      assertError(await api.send(method, path), 404, 'guardrail_policy_not_found', 'policy_id');
    }
  });

  it('POST test evaluates texts, also by a disabled policy, and records no usage', async () => {
    const { json } = await create({
      name: 'x',
      enabled: false,
      thresholds: { harassment: 1 },
      topic_deny_list: [
        { topic: 'falcon', action: 'block' },
        { topic: 'owl', action: 'warn' },
      ],
    });
    const path = `${PATH}/${json.id}/test`;
    const texts = ['A FALCON and an owl', 'an owl', 'hit him', 'hello'];
    const tested = await api.send('POST', path, { body: { input: texts } });
    assert.equal(tested.status, 200);
    assertSchema(PolicyTest, tested.json);
    const { results } = tested.json;
    assert.deepEqual(
      results.map(({ action }: { action: string }) => action),
      ['block', 'warn', 'block', 'pass'],
    );
    assert.deepEqual(results[0].topics[0], { topic: 'falcon', action: 'block', start_index: 2, end_index: 8 });
    assert.equal(results[0].normalized_text, 'a falcon and an owl');
    assert.equal(results[2].category_scores.violence, 0.8);
    const output = await api.send('POST', path, { body: { input: 'falcon', stage: 'output' } });
    assert.deepEqual([output.json.results[0].action, output.json.results[0].category_scores], ['pass', null]);
    for (const [body, param] of [
      [{ input: [] }, 'input'],
      [{ input: 5 }, 'input'],
      [{ input: 'a', stage: 'x' }, 'stage'],
    ] as const) {
      assertError(await api.send('POST', path, { body }), 400, 'invalid_value', param);
    }
    assertError(await api.send('POST', path, { body: {} }), 400, 'missing_required_field', 'input');
  });

  it('POST test shows lookalikes by the words that contain them, when the policy matches them', async () => {
    const { json } = await create({
      name: 'x',
      topic_deny_list: [
        { topic: 'falcon', action: 'block' },
        { topic: 'ject owl', action: 'block' },
      ],
    });
    const path = `${PATH}/${json.id}`;
    const input = `My  f\u0430lcon\n \ud83c\udd6d pr\u043ej\u0435ct 0wl. `;
    const test = async () => {
      const [result] = (await api.send('POST', `${path}/test`, { body: { input } })).json.results;
      const texts = result.topics.map(({ start_index: start, end_index: end }: Record<string, number>) =>
        result.normalized_text.slice(start, end),
      );
      return [result.action, ...texts];
    };
    assert.deepEqual(await test(), ['pass']);
    await api.send('PUT', path, { body: { match_confusables: true } });
    assert.deepEqual(await test(), ['block', 'f\u0430lcon', 'pr\u043ej\u0435ct 0wl.']);
  });

  it('answers 401 without a key, 403 without the scope, and 404 for policies of others', async () => {
    const { json } = await create({ name: 'x' });
    const key = await foreignKey();
    const unscoped = (await api.makeKey({ scopes: ['inference', 'files', 'knowledge', 'admin'] })).key;
    const routes = [
      ['POST', PATH, { name: 'x' }],
      ['GET', PATH, undefined],
      ['GET', `${PATH}/${json.id}`, undefined],
      ['PUT', `${PATH}/${json.id}`, { name: 'y' }],
      ['POST', `${PATH}/${json.id}/test`, { input: 'x' }],
      ['DELETE', `${PATH}/${json.id}`, undefined],
    ] as const;
    for (const [method, path, body] of routes) {
      assertError(await api.send(method, path, { body, key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { body, key: unscoped }), 403, 'insufficient_scope');
      if (path === PATH) continue;
      assertError(await api.send(method, path, { body, key }), 404, 'guardrail_policy_not_found', 'policy_id');
      const unknown = path.replace(json.id, 'gp_x');
      assertError(await api.send(method, unknown, { body }), 404, 'guardrail_policy_not_found', 'policy_id');
    }
    assert.equal((await api.send('GET', `${PATH}/${json.id}`)).json.name, 'x');
  });
});
