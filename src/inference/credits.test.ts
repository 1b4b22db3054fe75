import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { assertError, useApi } from '../../test/harness.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import { sumCredits } from '../../test/sum-credits.ts';
import { selectOrganizationByName } from '../accounts/store.ts';
import { apiKeys } from '../accounts/tables.ts';
import { readBalance, setBalance } from '../billing/credits.ts';
import { usageRecords } from '../billing/tables.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { engineUnavailable } from '../errors.ts';
import { newId } from '../lib/ids.ts';

/** `general-8b`: 0.1 micros per prompt token, 0.2 micros per token of output. */
const MODEL = 'general-8b';

describe('credits of model calls', () => {
  const api = useApi();
  const newKey = async (balanceMicros: number | null) => {
    const name = newId('organization');
    const { key, id: keyId } = await api.makeKey({ organization: name });
    const organization = (await selectOrganizationByName(api.db.sql, name))?.id ?? '';
    if (balanceMicros !== null)
      await setBalance(api.db.sql, organization, balanceMicros, { actor: 'test', note: null });
    return { key, keyId, organization };
  };
  const chat = (key: string, body: object = {}) =>
    api.send('POST', '/v1/chat/completions', {
      key,
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hi' }], ...body },
    });
  const balanceOf = async (organization: string) => (await readBalance(api.db.sql, organization))?.balanceMicros;

  it('402 insufficient_credits before retrieval and the engine, and nothing is recorded', async () => {
    const { key, organization } = await newKey(10);
    const { length } = api.engine.calls;
    for (const body of [{}, { stream: true }, { max_tokens: 1 }, { knowledge_bases: [newId('knowledgeBase')] }]) {
      assertError(await chat(key, body), 402, 'insufficient_credits', null);
    }
    assert.equal(api.engine.calls.length, length);
    assert.equal(await balanceOf(organization), 10);
    const records = await api.db.sql.select().from(usageRecords).where(eq(usageRecords.organizationId, organization));
    assert.deepEqual(records, []);
  });

  it('charges the exact cost of whole and streamed answers, cached tokens at one tenth', async () => {
    const { key, organization } = await newKey(100_000);
    api.engine.play(() =>
      stream<GenerationEvent>([
        { type: 'prompt-end', promptTokens: 1_000, cachedTokens: 500 },
        { type: 'choice-end', choice: 0, reason: 'stop' },
        { type: 'usage', usage: { promptTokens: 1_000, cachedTokens: 500, completionTokens: 100 } },
      ]),
    );
    for (const body of [{}, { stream: true }]) assert.equal((await chat(key, body)).status, 200);
    assert.equal(await balanceOf(organization), 100_000 - 2 * (50 + 5 + 20));
    assert.deepEqual(await sumCredits(api.db.sql, organization), { transactions: 100_000, charged: 150 });
  });

  it('lowers the output limit to what the balance covers', async () => {
    const { key } = await newKey(200);
    api.engine.play(() => stream(words('one')));
    assert.equal((await chat(key, { n: 2, max_tokens: 4_000 })).status, 200);
    const { maxTokens } = api.engine.calls.at(-1)?.request ?? {};
    assert.ok(typeof maxTokens === 'number' && maxTokens > 100 && maxTokens < 400, String(maxTokens));
    assert.equal((await chat(key, { max_tokens: 10 })).status, 200);
    assert.equal(api.engine.calls.at(-1)?.request.maxTokens, 10);
  });

  it('charges what a failed call has used, and gives back the rest', async () => {
    const { key, organization } = await newKey(900);
    api.engine.play(async function* () {
      yield { type: 'prompt-end', promptTokens: 1_000, cachedTokens: 0 };
      throw engineUnavailable('The engine stopped.', 1);
    });
    assert.equal((await chat(key)).status, 503);
    assert.equal(await balanceOf(organization), 800);
    api.engine.play(() => stream(words('one')));
    assert.equal((await chat(key, { max_tokens: 3_000 })).status, 200);
    assert.equal(api.engine.calls.at(-1)?.request.maxTokens, 3_000);
  });

  it('charges what a disconnected client has used', async () => {
    const { key, organization } = await newKey(10_000);
    api.engine.play(async function* (_request, signal) {
      yield { type: 'prompt-end', promptTokens: 1_000, cachedTokens: 0 };
      yield { type: 'text-delta', choice: 0, text: 'a b c d e', tokens: 5 };
      await untilAborted(signal);
    });
    const controller = new AbortController();
    const answer = await fetch(`${api.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }], stream: true }),
      signal: controller.signal,
    });
    await answer.body?.getReader().read();
    controller.abort();
    while ((await balanceOf(organization)) === 10_000) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await balanceOf(organization), 10_000 - 101);
  });

  it('402 that names the budget of the key, and a header beyond its soft limit', async () => {
    const { key, keyId } = await newKey(null);
    const budget = { period: 'month', limitMicros: 1_000, softLimitMicros: 50 } as const;
    await api.db.sql.update(apiKeys).set({ budget }).where(eq(apiKeys.id, keyId));
    api.engine.play(() => stream(words('one', 'stop', 500)));
    assert.equal((await chat(key)).headers.get('x-budget-warning'), null);
    for (const body of [{}, { stream: true }]) {
      assert.equal((await chat(key, body)).headers.get('x-budget-warning'), 'soft_limit_exceeded');
    }
    api.engine.play(() => stream(words('one', 'stop', 8_000)));
    await chat(key);
    const rejected = await chat(key);
    assertError(rejected, 402, 'insufficient_credits', null);
    assert.match(rejected.json.error.message, /monthly budget of this API key/);
  });
});
