import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it, mock } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { insertOrganization } from '../accounts/store.ts';
import { usageRecords } from '../billing/tables.ts';
import { listSchema } from '../db/page.ts';
import type { ModerationEngine } from '../engines/moderation-engine.ts';
import type { RerankEngine } from '../engines/rerank-engine.ts';
import { newId } from '../lib/ids.ts';
import { pruneBlocks } from './blocks.ts';
import { GuardrailBlock } from './schema.ts';

const SAFE = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
const PATH = '/v1/guardrail-policies';
const DENY = { topic_deny_list: [{ topic: 'falcon', action: 'block' }] };

describe('a guardrail policy', () => {
  // Before the API starts, which keeps a reference to `Date.now`.
  before(() => mock.timers.enable({ apis: ['Date'], now: Date.now() }));
  after(() => mock.timers.reset());
  let isDown = false;
  const embedding = embeddedBy(recordingEmbedder());
  const rerank: RerankEngine = {
    backend: () => ({ engine: 'bundled', model: 'scripted', parameters: null, ready: true }),
    rerank: async ({ documents }) => ({ scores: documents.map(() => 0), tokens: 1 }),
    check: async () => {},
    close: async () => {},
  };
  const moderation: ModerationEngine = {
    backend: rerank.backend,
    moderate: async (texts) => ({ scores: texts.map(() => SAFE), tokens: 1 }),
    check: async () => {},
    close: async () => {},
  };
  const api = useApi({
    models: (engine) =>
      (embedding.models?.(engine) ?? []).map((model) => {
        if (model.id === 'reranker-v2-m3') return { ...model, rerank };
        return model.id === 'moderation-v1' ? { ...model, moderation } : model;
      }),
    scoreTexts: async (texts) => {
      if (isDown) throw new Error('the moderation engine is down');
      return texts.map((text) => ({ ...SAFE, harassment: text.includes('idiot') ? 0.9 : 0 }));
    },
  });
  const ask = (content: string, more: object = {}) =>
    api.send('POST', '/v1/chat/completions', {
      body: { model: 'general-8b', messages: [{ role: 'user', content }], ...more },
    });
  const records = async () => (await api.db.sql.select().from(usageRecords)).length;
  const answerWith = (text: string) => api.engine.play(() => stream(words(text)));
  let policyId = '';
  /** Applies a policy to the next calls, alone. */
  const apply = async (body: object) => {
    const { json } = await api.send('POST', PATH, { body: { name: 'x', ...body } });
    policyId = json.id;
    expireCache();
  };
  /** A process may apply a policy that another process has changed for a second. */
  const expireCache = () => {
    mock.timers.tick(1_001);
  };
  afterEach(async () => {
    isDown = false;
    api.engine.play(() => stream(words('Hello there.')));
    if (policyId !== '') await api.send('DELETE', `${PATH}/${policyId}`);
    policyId = '';
    expireCache();
  });

  it('blocks a flagged input with the error of the contract, before an engine is called, and bills nothing', async () => {
    await apply(DENY);
    const before = [api.engine.calls.length, await records()];
    for (const isStream of [false, true]) {
      const { status, headers, json } = await ask('Where is the Falcon?', { stream: isStream });
      assert.equal(status, 400);
      const { message, ...error } = json.error;
      assert.match(message, /blocked by the content policy.*topic 'falcon'/);
      assert.deepEqual(error, {
        type: 'content_policy_violation',
        param: 'messages',
        code: 'content_filtered',
        reasons: ["topic 'falcon' (block)"],
        policy_id: policyId,
      });
      assert.equal(headers.get('x-guardrail-policy'), policyId);
    }
    assert.deepEqual([api.engine.calls.length, await records()], before);
    assert.equal((await ask('Where is the owl?')).status, 200);
  });

  it('lists blocked inputs and outputs without their text, newest first with order=desc', async () => {
    await apply({ ...DENY, apply_to: ['both'] });
    const { id: keyId, key } = await api.makeKey({ organization: 'blocks' });
    const { json: policy } = await api.send('POST', PATH, { key, body: { name: 'x', ...DENY, apply_to: ['both'] } });
    expireCache();
    const body = (content: string) => ({ model: 'general-8b', messages: [{ role: 'user', content }] });
    const input = await api.send('POST', '/v1/chat/completions', { key, body: body('my secret falcon') });
    api.engine.play(() => stream(words('a secret falcon answer')));
    const output = await api.send('POST', '/v1/chat/completions', { key, body: body('Hello') });
    assert.equal(output.json.choices[0].finish_reason, 'content_filter');
    const list = (query: string) => api.send('GET', `/v1/guardrail-blocks${query}`, { key });
    const { json, text } = await list('?order=desc');
    assertSchema(listSchema(GuardrailBlock), json);
    const common = { object: 'guardrail_block', policy_id: policy.id, key_id: keyId, route: '/v1/chat/completions' };
    const facts = { ...common, model: 'general-8b', reasons: ["topic 'falcon' (block)"] };
    assert.deepEqual(
      json.data.map(({ id: _id, created_at: _at, ...block }: GuardrailBlock) => block),
      [
        { ...facts, stage: 'output', request_id: output.headers.get('x-request-id') },
        { ...facts, stage: 'input', request_id: input.headers.get('x-request-id') },
      ],
    );
    assert.doesNotMatch(text, /secret/);
    const [newest, oldest] = json.data;
    assert.deepEqual((await list(`?order=desc&limit=1&after=${newest.id}`)).json.data, [oldest]);
    assert.deepEqual((await list(`?policy_id=${policy.id}&limit=1`)).json.data, [oldest]);
    assert.deepEqual((await list(`?policy_id=${policyId}`)).json.data, []);
    const { json: own } = await api.send('GET', '/v1/guardrail-blocks?order=desc&limit=100');
    assert.ok(own.data.every((block: GuardrailBlock) => block.policy_id !== policy.id));
    await pruneBlocks({ ...api.deps, now: () => Date.now() + 31 * 86_400_000 });
    assert.deepEqual((await list('')).json.data, []);
  });

  it('rejects unknown parameters of the list of blocks', async () => {
    const list = (query: string, key: string | null = api.key) =>
      api.send('GET', `/v1/guardrail-blocks?${query}`, { key });
    for (const [query, param] of [
      ['order=up', 'order'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['after=gp_x', 'after'],
      ['policy_id=x', 'policy_id'],
    ] as const) {
      assertError(await list(query), 400, 'invalid_value', param);
    }
    assertError(await list('', null), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference', 'files', 'knowledge', 'admin'] });
    assertError(await list('', key), 403, 'insufficient_scope');
  });

  it('blocks inputs of every inference route', async () => {
    await apply(DENY);
    const calls: [path: string, body: object][] = [
      ['/v1/completions', { model: 'general-8b', prompt: ['a', 'the falcon'] }],
      ['/v1/embeddings', { model: 'embed-large-en-v1.5', input: ['a', 'the falcon'] }],
      ['/v1/rerank', { model: 'reranker-v2-m3', query: 'the falcon', documents: ['a'] }],
    ];
    for (const [path, body] of calls) {
      const { status, json } = await api.send('POST', path, { body });
      assert.deepEqual([status, json.error.code, json.error.param], [400, 'content_filtered', 'messages'], path);
    }
  });

  it('matches lookalikes from the moment the policy says so', async () => {
    await apply(DENY);
    const content = 'the f\u0430lc\u200bon';
    assert.equal((await ask(content)).status, 200);
    await api.send('PUT', `${PATH}/${policyId}`, { body: { match_confusables: true } });
    expireCache();
    assert.deepEqual((await ask(content)).json.error.reasons, ["topic 'falcon' (block)"]);
  });

  it('does not apply to system messages, answers and tool results of the request', async () => {
    await apply(DENY);
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      { role: 'system', content: 'falcon' },
      { role: 'assistant', content: 'falcon', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'falcon' },
      { role: 'user', content: 'hello' },
    ];
    assert.equal(
      (await api.send('POST', '/v1/chat/completions', { body: { model: 'general-8b', messages } })).status,
      200,
    );
  });

  it('passes a flagged input with a warning when block_on_flag is false', async () => {
    await apply({ ...DENY, block_on_flag: false });
    const result = { flagged: true, action: 'warn', stage: 'input', reasons: ["topic 'falcon' (block)"] };
    const moderation = { ...result, policy_id: policyId, stages: [result] };
    const { status, headers, json } = await ask('the falcon');
    assert.equal(status, 200);
    assert.equal(headers.get('x-moderation-warning'), 'flagged');
    assert.equal(headers.get('x-guardrail-policy'), policyId);
    assert.deepEqual(json.moderation, moderation);
    const streamed = await ask('the falcon', { stream: true });
    assert.equal(streamed.headers.get('x-moderation-warning'), 'flagged');
    const frames = streamed.text.split('\n\n').filter((frame) => frame.startsWith('data: {'));
    const [first, ...rest] = frames.map((frame) => JSON.parse(frame.slice(6)));
    assert.deepEqual(first.moderation, moderation);
    assert.ok(rest.length > 0 && rest.every((frame) => !('moderation' in frame)));
    const embedded = await api.send('POST', '/v1/embeddings', {
      body: { model: 'embed-large-en-v1.5', input: 'the falcon' },
    });
    assert.deepEqual(embedded.json.moderation, moderation);
    assert.equal(embedded.headers.get('x-moderation-warning'), 'flagged');
    const reranked = await api.send('POST', '/v1/rerank', {
      body: { model: 'reranker-v2-m3', query: 'the falcon', documents: ['a'] },
    });
    assert.deepEqual(reranked.json.moderation, moderation);
    assert.equal(reranked.headers.get('x-guardrail-policy'), policyId);
    const completed = await api.send('POST', '/v1/completions', {
      body: { model: 'general-8b', prompt: 'the falcon' },
    });
    assert.deepEqual(completed.json.moderation, moderation);
  });

  it('adds nothing to a response that it does not flag', async () => {
    await apply({ ...DENY, apply_to: ['both'] });
    const { headers, json } = await ask('hello');
    assert.equal('moderation' in json, false);
    assert.equal(headers.get('x-moderation-warning'), null);
    assert.equal(headers.get('x-guardrail-policy'), null);
  });

  it('flags an input by its scores', async () => {
    await apply({ thresholds: { harassment: 0.9 } });
    const { json } = await ask('you idiot');
    assert.deepEqual(json.error.reasons, ["category 'harassment' scored 90 of 100"]);
    await api.send('PUT', `${PATH}/${policyId}`, { body: { thresholds: { harassment: 0.91 } } });
    expireCache();
    assert.equal((await ask('you idiot')).status, 200);
  });

  it('replaces a flagged answer and records its usage', async () => {
    await apply({ ...DENY, apply_to: ['output'] });
    answerWith('It is the falcon.');
    const before = await records();
    const { status, headers, json } = await ask('the falcon');
    assert.equal(status, 200);
    assert.equal(json.choices[0].finish_reason, 'content_filter');
    assert.match(json.choices[0].message.content, /removed by the content policy/);
    assert.deepEqual([json.moderation.action, json.moderation.stage], ['block', 'output']);
    assert.equal(headers.get('x-guardrail-policy'), policyId);
    assert.equal(headers.get('x-moderation-warning'), null);
    assert.equal(await records(), before + 1);
  });

  it('passes a flagged answer with a warning when block_on_flag is false', async () => {
    await apply({ ...DENY, apply_to: ['both'], block_on_flag: false });
    answerWith('It is the falcon.');
    const { headers, json } = await ask('hello');
    assert.equal(json.choices[0].message.content, 'It is the falcon.');
    assert.equal(headers.get('x-moderation-warning'), 'output_flagged');
    assert.equal(json.moderation.stage, 'output');
  });

  it('does not screen the output of a stream', async () => {
    await apply({ ...DENY, apply_to: ['both'] });
    answerWith('It is the falcon.');
    const { status, text } = await ask('hello', { stream: true });
    assert.equal(status, 200);
    assert.match(text, /falcon/);
  });

  it('fails closed when texts cannot be scored and it would block', async () => {
    await apply({});
    isDown = true;
    const { status, json, headers } = await ask('hello');
    assert.deepEqual([status, json.error.code], [503, 'engine_unavailable']);
    assert.ok(Number(headers.get('retry-after')) >= 1);
  });

  it('passes with a warning when texts cannot be scored and it only warns, and still matches topics', async () => {
    await apply({ ...DENY, block_on_flag: false });
    isDown = true;
    const passed = await ask('hello');
    assert.equal(passed.headers.get('x-moderation-warning'), 'unscreened');
    assert.deepEqual([passed.json.moderation.flagged, passed.json.moderation.action], [false, 'warn']);
    const flagged = await ask('the falcon');
    assert.equal(flagged.headers.get('x-moderation-warning'), 'flagged');
    assert.equal(flagged.json.moderation.reasons.length, 2);
  });

  it('needs no scores when every category is disabled', async () => {
    await apply({ ...DENY, thresholds: { harassment: 1, hate: 1, self_harm: 1, sexual: 1, violence: 1 } });
    isDown = true;
    assert.equal((await ask('hello')).status, 200);
    assert.equal((await ask('the falcon')).status, 400);
  });

  it('applies only while it is enabled, and only as the newest enabled one', async () => {
    await apply(DENY);
    const older = policyId;
    await apply({ topic_deny_list: [{ topic: 'owl', action: 'block' }] });
    assert.equal((await ask('the falcon')).status, 200);
    assert.equal((await ask('the owl')).status, 400);
    await api.send('PUT', `${PATH}/${policyId}`, { body: { enabled: false } });
    expireCache();
    assert.equal((await ask('the falcon')).status, 400);
    assert.equal((await ask('the owl')).status, 200);
    await api.send('DELETE', `${PATH}/${older}`);
    expireCache();
    assert.equal((await ask('the falcon')).status, 200);
  });

  it('does not apply to other organizations, nor to moderations', async () => {
    await apply(DENY);
    const organization = newId('organization');
    await insertOrganization(api.db.sql, organization, organization);
    const { key } = await api.makeKey({ organization });
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'the falcon' }] };
    assert.equal((await api.send('POST', '/v1/chat/completions', { body, key })).status, 200);
    assert.equal((await api.send('POST', '/v1/chat/completions', { body })).status, 400);
    assert.equal((await api.send('POST', '/v1/moderations', { body: { input: 'the falcon' } })).status, 200);
  });

  it('finds topics in long texts, also at the borders of the windows in which they are matched', async () => {
    await apply({
      ...DENY,
      apply_to: ['input'],
      thresholds: { harassment: 1, hate: 1, self_harm: 1, sexual: 1, violence: 1 },
    });
    const embed = (input: string) =>
      api.send('POST', '/v1/embeddings', { body: { model: 'embed-large-en-v1.5', input } });
    for (const at of [131_066, 131_068, 131_072, 122_878, 122_880, 400_000]) {
      const text = `${'a '.repeat(at / 2)}falcon${' b'.repeat(100_000)}`;
      assert.equal((await embed(text)).json.error?.code, 'content_filtered', `at ${at}`);
    }
    const glued = `${'x'.repeat(131_072 - 6)}falcon${'x'.repeat(200_000)}`;
    assert.notEqual((await embed(glued)).json.error?.code, 'content_filtered');
  });
});
