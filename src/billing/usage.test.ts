import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { joinAsUser } from '../../test/console-users.ts';
import { type Answer, assertError, assertSchema, useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { AWKWARD_DAYS, EARLY_HOURS } from '../../test/support/awkward.ts';
import { insertOrganization } from '../accounts/store.ts';
import { newId } from '../lib/ids.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { usageCsv } from './read-usage.ts';
import { rollUpUsage } from './roll-up-usage.ts';
import { UsagePage, UsageSummary } from './schema.ts';
import { usageDaily, usageRecords } from './tables.ts';
import { DAY_MS, firstIdAt, insertDay, rolledUpUntil } from './usage-store.ts';

/** 2026-03-10T00:00:00Z. */
const DAY = Date.UTC(2026, 2, 10);
const HOUR_MS = 3_600_000;

describe('GET /v1/usage', () => {
  const api = useApi();
  let count = 0;
  const newOrganization = async () => {
    const organization = newId('organization');
    await insertOrganization(api.db.sql, organization, organization);
    const { key, id } = await api.makeKey({ organization });
    const scopes = ['inference', 'files', 'knowledge', 'guardrails'] as const;
    return { key, id, organization, limited: (await api.makeKey({ organization, scopes: [...scopes] })).key };
  };
  /** Stores a record as the ledger does, at a time. */
  const record = async (organizationId: string, at: number, more: Partial<UsageRecord> = {}) => {
    count += 1;
    const row: UsageRecord = {
      id: firstIdAt(at) + String(count).padStart(16, '0'),
      organizationId,
      keyId: 'key_1',
      requestId: 'req_1',
      endpoint: '/v1/chat/completions',
      model: 'general-8b',
      promptTokens: 10,
      cachedTokens: 4,
      completionTokens: 5,
      searches: 1,
      rerankUnits: 2,
      costMicros: 100,
      durationMs: 1,
      queueMs: 0,
      firstTokenMs: null,
      isCacheHit: null,
      finishReason: 'stop',
      isBatch: false,
      outcome: 'completed',
      createdAt: new Date(at),
      ...more,
    };
    await api.db.sql.insert(usageRecords).values(row);
  };
  const read = (query: string, key: string) => api.send('GET', `/v1/usage?${query}`, { key });
  const range = (from: number, to: number) => `start_time=${from / 1000}&end_time=${to / 1000}`;

  it('adds up the calls of the organization by day', async () => {
    const { organization, key } = await newOrganization();
    await record(organization, DAY);
    await record(organization, DAY + DAY_MS - 1);
    await record(organization, DAY + DAY_MS);
    await record(organization, DAY - 1);
    await record(organization, DAY + 2 * DAY_MS);
    const { status, json } = await read(range(DAY, DAY + 2 * DAY_MS), key);
    assert.equal(status, 200);
    assertSchema(UsagePage, json);
    const head = {
      object: 'usage',
      organization_id: organization,
      model: null,
      key_id: null,
      route: null,
      key_name: null,
    };
    const one = {
      prompt_tokens: 10,
      cached_tokens: 4,
      completion_tokens: 5,
      searches: 1,
      rerank_units: 2,
      cost_micros: 100,
    };
    const two = {
      prompt_tokens: 20,
      cached_tokens: 8,
      completion_tokens: 10,
      searches: 2,
      rerank_units: 4,
      cost_micros: 200,
    };
    assert.deepEqual(json.data, [
      { ...head, start_time: DAY / 1000, end_time: (DAY + DAY_MS) / 1000, requests: 2, ...two },
      { ...head, start_time: (DAY + DAY_MS) / 1000, end_time: (DAY + 2 * DAY_MS) / 1000, requests: 1, ...one },
    ]);
    assert.deepEqual([json.has_more, json.first_id, json.last_id], [false, '1', '2']);
  });

  it('adds up by hour, and by model, key and route', async () => {
    const { organization, key } = await newOrganization();
    await record(organization, DAY + HOUR_MS - 1);
    await record(organization, DAY + HOUR_MS, { model: 'b', keyId: 'key_2' });
    await record(organization, DAY + HOUR_MS, { model: 'a', endpoint: '/v1/embeddings' });
    const { json } = await read(`${range(DAY, DAY + 2 * HOUR_MS)}&bucket=hour&group_by=model,key,route`, key);
    assert.deepEqual(
      json.data.map((row: Record<string, unknown>) => [
        Number(row['start_time']) - DAY / 1000,
        row['model'],
        row['key_id'],
        row['route'],
      ]),
      [
        [0, 'general-8b', 'key_1', '/v1/chat/completions'],
        [3600, 'a', 'key_1', '/v1/embeddings'],
        [3600, 'b', 'key_2', '/v1/chat/completions'],
      ],
    );
  });

  it('selects the calls of one key', async () => {
    const { organization, key } = await newOrganization();
    await record(organization, DAY);
    await record(organization, DAY, { keyId: 'key_2' });
    await record(organization, DAY + DAY_MS, { keyId: 'key_2' });
    const { json } = await read(`${range(DAY, DAY + 2 * DAY_MS)}&key_id=key_2`, key);
    assert.deepEqual(
      json.data.map(({ requests }: { requests: number }) => requests),
      [1, 1],
    );
    assertError(await read('key_id=%00', key), 400, 'invalid_value', 'key_id');
  });

  it('names users, whose names can be emails, only with the scope keys', async () => {
    const { organization, key, limited } = await newOrganization();
    const viewer = await joinAsUser(api, 'viewer', { organization });
    await record(organization, DAY, { keyId: viewer.id });
    const query = `${range(DAY, DAY + DAY_MS)}&group_by=key`;
    const nameIn = ({ json }: Answer) => json.data[0].key_name;
    const name = nameIn(await viewer.send('GET', `/v1/usage?${query}`));
    assert.match(name, /^User/);
    assert.equal(nameIn(await read(query, limited)), null);
    assert.equal(nameIn(await read(query, key)), name);
    for (const scope of ['keys', 'admin'] as const) {
      assert.equal(nameIn(await read(query, (await api.makeKey({ organization, scopes: [scope] })).key)), name);
    }
  });

  it('adds up a period by key with names, the most expensive first, and only the given keys', async () => {
    const { organization, key, id } = await newOrganization();
    await record(organization, DAY, { keyId: id });
    await record(organization, DAY + DAY_MS, { keyId: id });
    await record(organization, DAY, { keyId: 'key_cheap', costMicros: 1 });
    await record(organization, DAY, { keyId: 'key_other', costMicros: 150 });
    const query = `${range(DAY, DAY + 2 * DAY_MS)}&bucket=total&group_by=key`;
    const { json } = await read(query, key);
    assertSchema(UsagePage, json);
    const view = (rows: Record<string, unknown>[]) =>
      rows.map((row) => [row['key_id'], row['key_name'] === null, row['cost_micros']]);
    assert.deepEqual(view(json.data), [
      [id, false, 200],
      ['key_other', true, 150],
      ['key_cheap', true, 1],
    ]);
    assert.deepEqual([json.data[0].start_time, json.data[0].end_time], [DAY / 1000, (DAY + 2 * DAY_MS) / 1000]);
    const selected = await read(`${query}&key_id=${id},key_cheap`, key);
    assert.deepEqual(
      selected.json.data.map((row: Record<string, unknown>) => row['key_id']),
      [id, 'key_cheap'],
    );
  });

  it('extends times to whole buckets', async () => {
    const { organization, key } = await newOrganization();
    await record(organization, DAY);
    await record(organization, DAY + HOUR_MS - 1);
    const { json } = await read(`${range(DAY + 1_800_000, DAY + 1_801_000)}&bucket=hour`, key);
    assert.equal(json.data[0].requests, 2);
  });

  it('pages through the rows', async () => {
    const { organization, key } = await newOrganization();
    for (const model of ['a', 'b', 'c']) await record(organization, DAY, { model });
    const query = `${range(DAY, DAY + DAY_MS)}&group_by=model&limit=2`;
    const first = (await read(query, key)).json;
    assert.deepEqual([first.data.length, first.has_more, first.last_id], [2, true, '2']);
    const second = (await read(`${query}&after=${first.last_id}`, key)).json;
    assert.deepEqual([second.data[0].model, second.has_more], ['c', false]);
  });

  it('gives CSV', async () => {
    const { organization, key } = await newOrganization();
    await record(organization, DAY, { model: 'a,"b"' });
    const { headers, text } = await read(`${range(DAY, DAY + DAY_MS)}&group_by=model&format=csv`, key);
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8');
    const [header, row, end] = text.split('\r\n');
    assert.match(header ?? '', /^start_time,end_time,organization_id,model,key_id,route,requests,/);
    assert.equal(row, `${DAY / 1000},${(DAY + DAY_MS) / 1000},${organization},"a,""b""",,,1,10,4,5,1,2,100,`);
    assert.equal(end, '');
  });

  it('keeps spreadsheets from running fields of the CSV', () => {
    const fields = {
      object: 'usage',
      start_time: 0,
      end_time: 1,
      organization_id: 'o',
      key_id: null,
      route: null,
    } as const;
    const sums = {
      requests: 1,
      prompt_tokens: 1,
      cached_tokens: 1,
      completion_tokens: 1,
      searches: 0,
      rerank_units: 0,
    };
    assert.match(
      usageCsv([{ ...fields, ...sums, model: '=1+1', cost_micros: 1, key_name: '@SUM(1)' }]),
      /,'=1\+1,.*,'@SUM\(1\)/,
    );
  });

  it('shows other organizations to the scope admin only', async () => {
    const mine = await newOrganization();
    const other = await newOrganization();
    await record(other.organization, DAY + 5 * DAY_MS);
    const query = range(DAY + 5 * DAY_MS, DAY + 6 * DAY_MS);
    assert.deepEqual((await read(query, mine.key)).json.data, []);
    for (const wanted of [other.organization, 'all']) {
      const allowed = await read(`${query}&organization_id=${wanted}`, mine.key);
      assert.equal(allowed.json.data[0].organization_id, other.organization);
      const denied = await read(`${query}&organization_id=${wanted}`, mine.limited);
      assertError(denied, 403, 'insufficient_scope', 'organization_id');
    }
    assert.equal((await read(query, mine.limited)).status, 200);
  });

  it('rejects what it cannot read with 400, and requests without a key with 401', async () => {
    const invalid: [query: string, param: string][] = [
      ['start_time=5&end_time=5', 'start_time'],
      ['start_time=-1', 'start_time'],
      ['start_time=x', 'start_time'],
      ['end_time=0', 'end_time'],
      [`${range(DAY, DAY + 1_001 * HOUR_MS)}&bucket=hour`, 'start_time'],
      ['bucket=week', 'bucket'],
      ['group_by=model,user', 'group_by'],
      ['format=xml', 'format'],
      ['limit=0', 'limit'],
      ['limit=10001', 'limit'],
      ['after=x', 'after'],
    ];
    for (const [query, param] of invalid) assertError(await read(query, api.key), 400, 'invalid_value', param);
    assert.equal((await read(`${range(DAY, DAY + 1_000 * HOUR_MS)}&bucket=hour`, api.key)).status, 200);
    assertError(await api.send('GET', '/v1/usage', { key: null }), 401, 'invalid_api_key');
  });

  it('shows the cost, duration and finish reason of calls', async () => {
    api.engine.play(() =>
      stream([
        { type: 'prompt-end', promptTokens: 1000, cachedTokens: 500 },
        ...words('one two', 'length').slice(1, -1),
        { type: 'usage', usage: { promptTokens: 1000, cachedTokens: 500, completionTokens: 2 } },
      ]),
    );
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };
    for (const isStream of [false, true])
      await api.send('POST', '/v1/chat/completions', { body: { ...body, stream: isStream } });
    const rows = await api.db.sql.select().from(usageRecords).where(eq(usageRecords.promptTokens, 1000));
    // 500 tokens at 0.1 micros, 500 at a tenth of it, 2 at 0.2: rounded up once.
    assert.deepEqual(
      rows.map(({ costMicros, finishReason, isBatch, rerankUnits }) => [
        costMicros,
        finishReason,
        isBatch,
        rerankUnits,
      ]),
      [
        [56, 'length', false, 0],
        [56, 'length', false, 0],
      ],
    );
    assert.ok(rows.every(({ durationMs }) => durationMs >= 0));
    const { json } = await api.send('GET', '/v1/usage');
    assert.ok(json.data[0].cost_micros >= 112);
  });

  for (const [index, { day, start }] of AWKWARD_DAYS.entries()) {
    it(`gives the same sums after the days before ${day} were rolled up and their records deleted`, async (t) => {
      const deleteAll = () =>
        api.db.execute('delete from usage_rollups; delete from usage_daily; delete from usage_records');
      await deleteAll();
      t.after(deleteAll);
      const { organization, key } = await newOrganization();
      const first = start - 3 * DAY_MS;
      for (let at = first; at <= start; at += DAY_MS) {
        await record(organization, at, { model: 'a' });
        await record(organization, at + DAY_MS - 1, { model: 'b' });
      }
      const query = `${range(first, start + DAY_MS)}&group_by=model,key,route`;
      const before = (await read(query, key)).json.data;
      assert.equal(before.length, 8);
      const deps = { ...api.deps, config: { ...api.deps.config, usageRetentionDays: 1 } };
      const run = (now: number) => rollUpUsage({ ...deps, now: () => now });
      const ofOrganization = eq(usageRecords.organizationId, organization);
      const left = async () => api.db.sql.$count(usageRecords, ofOrganization);
      const { name, ms, isSettled } = EARLY_HOURS[index % EARLY_HOURS.length]!;
      await run(start + ms);
      // A record may be this late: the day before is added up once it cannot come any more.
      if (!isSettled) await record(organization, start - 1, { model: 'late' });
      assert.equal(await rolledUpUntil(api.db.sql), isSettled ? start : start - DAY_MS, name);
      await Promise.all([run(start + 2 * HOUR_MS), run(start + 2 * HOUR_MS)]);
      const after = (await read(query, key)).json.data;
      assert.deepEqual(
        after.filter(({ model }: { model: string }) => model !== 'late'),
        before,
      );
      assert.equal(after.length, isSettled ? 8 : 9, 'the late record counts');
      assert.equal(await left(), isSettled ? 4 : 5);
      await insertDay(api.db.sql, start - DAY_MS);
      assert.deepEqual((await read(query, key)).json.data, after, 'a day is added once');
      await run(start + 10 * DAY_MS);
      assert.deepEqual((await read(query, key)).json.data, after);
      assert.equal(await left(), 0);
      const rows = await api.db.sql.select().from(usageDaily).where(eq(usageDaily.organizationId, organization));
      assert.equal(rows.length, after.length);
    });
  }

  it('GET /v1/usage/summary has totals, percentiles, errors and cache hits by time and by model', async () => {
    const { organization, key } = await newOrganization();
    const now = Date.now();
    for (let index = 1; index <= 100; index += 1) {
      await record(organization, now - 1_000, { durationMs: index * 10, firstTokenMs: index, isCacheHit: index > 75 });
    }
    await record(organization, now - 1_000, { model: 'b', outcome: 'failed', durationMs: 90_000 });
    await record(organization, now - 1_000, { model: 'b', outcome: 'cancelled', durationMs: 90_000 });
    await record(organization, now - 1_000, { model: 'c', isBatch: true, durationMs: 90_000, firstTokenMs: 90_000 });
    await record(organization, now - 2 * HOUR_MS);
    const { status, json } = await api.send('GET', '/v1/usage/summary?period=1h', { key });
    assert.equal(status, 200);
    assertSchema(UsageSummary, json);
    const { total, buckets, models } = json;
    assert.deepEqual([total.requests, total.failed, total.cancelled, total.cost_micros], [103, 1, 1, 10_300]);
    assert.deepEqual([total.cache_hits, total.cache_misses], [25, 75]);
    assert.deepEqual(
      [total.latency_ms, total.first_token_ms],
      [
        { p50: 505, p95: 951 },
        { p50: 51, p95: 95 },
      ],
    );
    assert.deepEqual(
      buckets.map(({ start_time, requests }: { start_time: number; requests: number }) => [
        (now - 1_000) / 1000 - start_time < json.bucket_seconds,
        requests,
      ]),
      [[true, 103]],
    );
    assert.deepEqual(
      models.map(({ model, requests }: { model: string; requests: number }) => [model, requests]),
      [
        ['general-8b', 100],
        ['b', 2],
        ['c', 1],
      ],
    );
    assert.deepEqual([models[2].latency_ms, models[2].first_token_ms], [null, null]);
    const ofModel = (await api.send('GET', '/v1/usage/summary?period=24h&model=general-8b', { key })).json;
    assert.deepEqual([ofModel.total.requests, ofModel.models.length], [101, 1]);
  });

  it('GET /v1/usage/summary shows other organizations to the scope admin only, and no calls as zeros', async () => {
    const mine = await newOrganization();
    const other = await newOrganization();
    await record(other.organization, Date.now() - 1_000);
    const summarize = (query: string, key: string | null) => api.send('GET', `/v1/usage/summary?${query}`, { key });
    const own = (await summarize('', mine.limited)).json;
    assertSchema(UsageSummary, own);
    assert.deepEqual([own.total.requests, own.total.latency_ms, own.balance_micros], [0, null, null]);
    for (const wanted of [other.organization, 'all']) {
      assert.ok((await summarize(`organization_id=${wanted}`, mine.key)).json.total.requests >= 1);
      const denied = await summarize(`organization_id=${wanted}`, mine.limited);
      assertError(denied, 403, 'insufficient_scope', 'organization_id');
    }
    assertError(await summarize('period=2h', mine.key), 400, 'invalid_value', 'period');
    assertError(await summarize('', null), 401, 'invalid_api_key');
  });
});
