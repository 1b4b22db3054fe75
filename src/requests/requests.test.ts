import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { until } from '../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { calls, playTurns, says } from '../../test/response-turns.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession } from '../../test/support/open-session.ts';
import { listSchema } from '../db/page.ts';
import { engineUnavailable } from '../errors.ts';
import { CallLog } from '../lib/call-log.ts';
import { idTime, minIdAt, newId } from '../lib/ids.ts';
import { maintainRequestLog } from './maintain-request-log.ts';
import { LoggedRequest, LoggedRequestDetail } from './schema.ts';

const CHAT = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }] };
const DAY_MS = 86_400_000;

describe('the request log', () => {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi(embeddedBy(embedder));
  let own: Awaited<ReturnType<typeof api.makeKey>>;
  const chat = (options: object = {}, body: object = CHAT) =>
    api.send('POST', '/v1/chat/completions', { key: own.key, body, ...options });
  const list = async (query = '', key = own.key) => {
    await api.requestLog.flush();
    const answer = await api.send('GET', `/v1/requests?${query}`, { key });
    assert.equal(answer.status, 200, answer.text);
    assertSchema(listSchema(LoggedRequest), answer.json);
    return answer.json.data;
  };
  const find = async (requestId: string | null, key = own.key) => {
    await api.requestLog.flush();
    return api.send('GET', `/v1/requests/${requestId}`, { key });
  };

  beforeEach(async () => {
    api.engine.play(() => stream(words('Hello there.')));
    own = await api.makeKey({ organization: newId('organization'), name: 'bot' });
  });

  it('has a completed request under its x-request-id, with its tokens, cost, times and key', async () => {
    const { headers } = await chat({ headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } });
    const id = headers.get('x-request-id') ?? '';
    const { status, json } = await find(id);
    assert.equal(status, 200);
    assertSchema(LoggedRequestDetail, json);
    const { duration_ms, queue_ms, ...request } = json;
    assert.ok(duration_ms >= queue_ms);
    assert.deepEqual(request, {
      ...{ id, object: 'request', created_at: idTime('request', id), organization_id: own.organizationId },
      ...{ key_id: own.id, key_name: 'bot', route: '/v1/chat/completions', model: 'general-8b', status: 200 },
      ...{ error: null, is_batch: false, model_calls: 1, prompt_tokens: 7, cached_tokens: 0, completion_tokens: 2 },
      ...{ cost_micros: request.cost_micros, first_token_ms: null, decode_ms: null, cache: 'miss', guardrail: null },
      ...{ trace_id: 'a'.repeat(32), has_contents: false, steps: [] },
    });
  });

  it('has the time of the first token of a stream, and the status of an error after its head', async () => {
    await chat({}, { ...CHAT, stream: true });
    api.engine.play(async function* () {
      yield* words('Hello there.').slice(0, 2);
      throw engineUnavailable('The server is gone.', 1);
    });
    await chat({}, { ...CHAT, stream: true });
    const [failed, streamed] = await list();
    assert.ok(streamed.first_token_ms + streamed.decode_ms === streamed.duration_ms);
    assert.equal(failed.status, 503);
    assert.equal(failed.error.code, 'engine_unavailable');
  });

  it('has requests that were rejected: 400, 402, 404, 429, 401 of a revoked key; not of an unknown key', async () => {
    const rejected = [
      await chat({}, { ...CHAT, temperature: 'hot' }),
      await chat({}, { ...CHAT, model: 'no-such-model' }),
      await chat({ body: '{' }),
    ];
    const budget = { period: 'total', limitMicros: 1, softLimitMicros: null } as const;
    const limits = { requestsPerMinute: 1, tokensPerMinute: null, concurrent: null };
    const organization = own.organizationId;
    const name = (await api.db.execute('select name from organizations where id = $1', [organization])).rows[0] as {
      name: string;
    };
    const poor = await api.makeKey({ organization: name.name, budget });
    rejected.push(await chat({ key: poor.key }, { ...CHAT, model: 'general-70b' }));
    const slow = await api.makeKey({ organization: name.name, limits });
    await chat({ key: slow.key });
    rejected.push(await chat({ key: slow.key }));
    const old = await api.makeKey({ organization: name.name, expiresAt: new Date(1) });
    rejected.push(await chat({ key: old.key }), await chat({ key: `quire-sk-${'x'.repeat(40)}` }));
    const statuses = rejected.map(({ status }) => status);
    assert.deepEqual(statuses, [400, 404, 400, 402, 429, 401, 401]);
    const errors = await list('status=error');
    assert.deepEqual(
      errors.map(({ id, status, error, model, key_id }: Record<string, unknown>) => [id, status, error, model, key_id]),
      rejected
        .slice(0, -1)
        .toReversed()
        .map(({ headers, json }, index) => {
          const { code, message } = json.error;
          const model = [null, null, 'general-70b', null, 'no-such-model', 'general-8b'][index];
          const key = [old.id, slow.id, poor.id, own.id, own.id, own.id][index];
          return [headers.get('x-request-id'), rejected[5 - index]?.status, { code, message }, model, key];
        }),
    );
  });

  it('has one entry for a turn loop, with its model calls and tools as steps', async () => {
    playTurns(api.engine, calls(['file_search', { query: 'siren' }]), says('At nine.'));
    const base = await api.send('POST', '/v1/knowledge-bases', { key: own.key, body: { name: 'Sirens' } });
    assert.equal(base.status, 200, base.text);
    const tools = [{ type: 'file_search', vector_store_ids: [base.json.id] }];
    const { headers, json } = await api.send('POST', '/v1/responses', {
      key: own.key,
      body: { model: 'general-8b', input: 'When?', tools },
    });
    assert.equal(json.status, 'completed', JSON.stringify(json));
    const request = (await find(headers.get('x-request-id'))).json;
    assert.equal(request.model_calls, 2);
    assert.equal(request.prompt_tokens, 20);
    const steps = request.steps.filter(({ type }: { type: string }) => type !== 'embedding');
    assert.deepEqual(
      steps.map(({ type, name }: Record<string, string>) => [type, name]),
      [
        ['chat', 'general-8b'],
        ['search', 'Sirens'],
        ['chat', 'general-8b'],
      ],
    );
    assert.ok(steps.every((step: Record<string, number>) => (step['start_ms'] ?? -1) >= 0));
  });

  it('has 499 for a client that disconnects', async () => {
    const disconnecting = new AbortController();
    api.engine.play(async function* (_request, signal) {
      yield* words('Hello').slice(0, 1);
      disconnecting.abort();
      await untilAborted(signal);
    });
    const { url } = api;
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
    };
    const sent = fetch(`${url}/v1/chat/completions`, {
      ...{ ...init, body: JSON.stringify(CHAT), signal: disconnecting.signal },
    });
    await assert.rejects(sent);
    await until(async () => (await list()).length === 1);
    const [request] = await list();
    assert.deepEqual([request.status, request.error, request.model], [499, null, 'general-8b']);
  });

  it('404 request_not_found for unknown ids and those of another organization, which admins may read', async () => {
    const id = (await chat()).headers.get('x-request-id') ?? '';
    const foreign = await api.makeKey({ organization: newId('organization'), scopes: ['inference', 'keys'] });
    assert.deepEqual(await list('', foreign.key), []);
    for (const [requestId, key] of [
      [id, foreign.key],
      [newId('request'), own.key],
      ['no-id', own.key],
    ] as const) {
      assertError(await find(requestId, key), 404, 'request_not_found', 'request_id');
    }
    assert.equal((await find(id, api.key)).json.id, id);
    const all = await list(`organization_id=${own.organizationId}`, api.key);
    assert.deepEqual(
      all.map((request: { id: string }) => request.id),
      [id],
    );
    const answer = await api.send('GET', `/v1/requests?organization_id=${own.organizationId}`, { key: foreign.key });
    assertError(answer, 403, 'insufficient_scope', 'organization_id');
  });

  it('401 without a key', async () => {
    for (const path of ['/v1/requests', `/v1/requests/${newId('request')}`])
      assertError(await api.send('GET', path, { key: null }), 401, 'invalid_api_key', null);
  });

  it('400 for values that no request can match', async () => {
    const values = {
      ...{ status: ['abc', '3xx', '99', '600x'], key_id: ['A', ''], guardrail: ['maybe'], cache: ['yes'] },
      ...{ min_duration_ms: ['-1', '2147483648', 'x'], limit: ['0', '101'], after: ['key_1', 'x'], order: ['up'] },
      ...{ search: ['', 'x'.repeat(257), '%00'], model: ['%00'], route: ['%00'], end_time: ['0'], start_time: ['-1'] },
    };
    for (const [name, wrong] of Object.entries(values))
      for (const value of wrong) {
        const answer = await api.send('GET', `/v1/requests?${name}=${value}`, { key: own.key });
        assertError(answer, 400, 'invalid_value', name);
      }
    const range = await api.send('GET', '/v1/requests?start_time=5&end_time=5', { key: own.key });
    assertError(range, 400, 'invalid_value', 'start_time');
  });
});

describe('GET /v1/requests', () => {
  const api = useApi();
  const now = Date.now();
  let own: Awaited<ReturnType<typeof api.makeKey>>;
  let count = 0;
  /** Adds an entry of a time. */
  const add = (at: number, change: (log: CallLog) => void = () => {}, more: object = {}) => {
    const log = new CallLog();
    change(log);
    count += 1;
    const requestId = minIdAt('request', at) + String(count).padStart(16, '0');
    const { organizationId, id: keyId } = own;
    const call = { organizationId, keyId, route: '/v1/chat/completions', status: log.error?.status ?? 200 };
    const defaults = { durationMs: 5, isBatch: false, body: { model: 'general-8b' }, traceId: null };
    api.deps.logCall({ ...call, ...defaults, requestId, log, ...more });
    return requestId;
  };
  const ids = async (query: Record<string, string | number>, key = own.key): Promise<string[]> => {
    await api.requestLog.flush();
    const parameters = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    const { status, json, text } = await api.send('GET', `/v1/requests?${parameters}`, { key });
    assert.equal(status, 200, text);
    return json.data.map(({ id }: { id: string }) => id);
  };
  beforeEach(async () => {
    own = await api.makeKey({ organization: newId('organization') });
  });

  it('pages in both orders over the midnight between partitions', async () => {
    const midnight = now - (now % DAY_MS);
    const added = [-1, 0, 1].map((offset) => add(midnight + offset));
    assert.deepEqual(await ids({ order: 'asc' }), added);
    assert.deepEqual(await ids({}), added.toReversed());
    assert.deepEqual(await ids({ limit: 2 }), added.slice(1).toReversed());
    assert.deepEqual(await ids({ limit: 2, after: added[1] ?? '' }), added.slice(0, 1));
    assert.deepEqual(await ids({ order: 'asc', after: added[1] ?? '' }), added.slice(2));
    const seconds = midnight / 1000;
    assert.deepEqual(await ids({ start_time: seconds }), added.slice(1).toReversed());
    assert.deepEqual(await ids({ end_time: seconds }), added.slice(0, 1));
  });

  it('filters by each property, and by all together', async () => {
    const usage = { model: 'general-70b', promptTokens: 1, cachedTokens: 1, completionTokens: 1, costMicros: 1 };
    const times = { durationMs: 1, queueMs: 0, firstTokenMs: null };
    const plain = add(now);
    const matching = add(
      now,
      (log) => {
        log.addCall({ operation: 'chat', ...usage, ...times, isCacheHit: true }, Date.now());
        log.addScreening('input', 'flagged', Date.now());
      },
      { durationMs: 900, route: '/v1/responses', keyId: 'key_2', status: 429 },
    );
    const missed = add(now, (log) => {
      log.addCall({ operation: 'chat', ...usage, ...times, model: 'general-8b', isCacheHit: false }, Date.now());
      log.addScreening('input', 'passed', Date.now());
    });
    const filters = {
      ...{ model: 'general-70b', cache: 'hit', guardrail: 'flagged', min_duration_ms: 900, route: '/v1/responses' },
      ...{ key_id: 'key_2', status: '429' },
    };
    for (const [name, value] of Object.entries(filters))
      assert.deepEqual(await ids({ [name]: value }), [matching], name);
    assert.deepEqual(await ids(filters), [matching]);
    assert.deepEqual(await ids({ status: '4xx' }), [matching]);
    assert.deepEqual(await ids({ status: 'error' }), [matching]);
    assert.deepEqual(await ids({ status: '5xx' }), []);
    assert.deepEqual(await ids({ status: '2xx' }), [missed, plain]);
    assert.deepEqual(await ids({ cache: 'miss' }), [missed]);
    assert.deepEqual(await ids({ guardrail: 'passed' }), [missed]);
    assert.deepEqual(await ids({ min_duration_ms: 901 }), []);
  });

  it('searches ids, and codes and messages of errors without patterns', async () => {
    const failing = (message: string) => add(now, (log) => log.fail(engineUnavailable(message, 1)));
    const first = failing('Nothing serves 100% of it.');
    const second = failing('Nothing serves 100 of it.');
    assert.deepEqual(await ids({ search: first }), [first]);
    assert.deepEqual(await ids({ search: '100%' }), [first]);
    assert.deepEqual(await ids({ search: 'NOTHING SERVES' }), [second, first]);
    assert.deepEqual(await ids({ search: 'engine_unavail' }), [second, first]);
    const others = await api.makeKey({ organization: newId('organization') });
    assert.deepEqual(await ids({ search: first }, others.key), []);
    for (const text of AWKWARD_TEXTS.filter((value) => value.trim() !== '')) {
      const id = failing(text);
      assert.deepEqual(await ids({ search: text.trim().slice(0, 256), limit: 1 }), [id], text);
    }
  });

  it('searches names of keys, and of people with the scope keys, together with errors and other filters', async () => {
    const organization = { organization: newId('organization') };
    own = await api.makeKey({ ...organization, name: 'Miller\'s "bot" 100%', scopes: ['inference'] });
    const second = await api.makeKey({ ...organization, name: 'MILLER two' });
    const person = await openUserSession(api, [own.organizationId]);
    const unrelated = await api.makeKey({ organization: newId('organization'), name: 'Miller' });
    const added = [
      add(now - 3),
      add(now - 2, () => {}, { keyId: second.id, status: 429 }),
      add(now - 1, (log) => log.fail(engineUnavailable('No miller here.', 1)), { keyId: 'key_3' }),
      add(now, () => {}, { keyId: person.id }),
    ] as const;
    add(now, () => {}, { keyId: unrelated.id, organizationId: unrelated.organizationId });
    const byName = [added[2], added[1], added[0]];
    assert.deepEqual(await ids({ search: 'miller' }), byName);
    assert.deepEqual(await ids({ search: 'miller', order: 'asc' }), byName.toReversed());
    assert.deepEqual(await ids({ search: 'miller', limit: 1 }), [added[2]]);
    assert.deepEqual(await ids({ search: 'miller', limit: 1, after: added[2] }), [added[1]]);
    assert.deepEqual(await ids({ search: '100%' }), [added[0]]);
    assert.deepEqual(await ids({ search: '\'s "BOT"' }), [added[0]]);
    assert.deepEqual(await ids({ search: 'miller', status: '429' }), [added[1]]);
    assert.deepEqual(await ids({ search: 'miller', key_id: own.id }), [added[0]]);
    assert.deepEqual(await ids({ search: 'nobody' }), []);
    assert.deepEqual(
      [await ids({ search: person.id }), await ids({ search: person.id }, second.key)],
      [[], [added[3]]],
    );
    assert.deepEqual((await ids({ search: 'miller' }, unrelated.key)).length, 1);
  });

  it('keeps the last entry of a request, also within one statement', async () => {
    const id = add(now, () => {}, { durationMs: 1 });
    add(now, () => {}, { requestId: id, durationMs: 2 });
    assert.deepEqual(await ids({ min_duration_ms: 2 }), [id]);
    add(now, () => {}, { requestId: id, durationMs: 3 });
    assert.deepEqual(await ids({ min_duration_ms: 3 }), [id]);
    assert.deepEqual(await ids({}), [id]);
  });

  it('drops partitions by age, and creates those of the coming days, in two processes at once', async () => {
    add(now);
    await api.requestLog.flush();
    const config = { ...api.deps.config, requestLogDays: 30 };
    const partitions = async () =>
      (
        await api.db.execute("select relname from pg_class where relname ~ '^request_log_\\d{8}$' order by relname")
      ).rows.map((row) => (row as { relname: string }).relname.slice(-8));
    const day = (offset: number) => new Date(now + offset * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
    const expected = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => day(from + index));
    assert.deepEqual(await partitions(), expected(-1, 2));
    const maintain = (offset: number) => maintainRequestLog({ ...api.deps, config, now: () => now + offset * DAY_MS });
    await Promise.all([maintain(29), maintain(29)]);
    assert.deepEqual(await partitions(), [...expected(-1, 2), ...expected(28, 31)]);
    // At midnight, when the last day has been over for exactly 30 days.
    await maintain(31 - (now % DAY_MS) / DAY_MS);
    assert.deepEqual(await partitions(), [...expected(1, 2), ...expected(28, 33)]);
  });
});
