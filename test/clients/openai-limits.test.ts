import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import OpenAI from 'openai';
import { apiKeys } from '../../src/accounts/tables.ts';
import { MODERATION_CATEGORIES, type ModerationScores } from '../../src/engines/moderation-engine.ts';
import type { RateLimits } from '../../src/lib/caller.ts';
import { useApi } from '../harness.ts';
import { stream, words } from '../scripted-engine.ts';

const QUESTION = { model: 'general-8b', messages: [{ role: 'user' as const, content: 'Hello' }], max_tokens: 10 };

const HARMLESS = Object.fromEntries(MODERATION_CATEGORIES.map((category) => [category, 0])) as ModerationScores;

describe('openai: blocked prompts', () => {
  const api = useApi({ scoreTexts: async (texts) => texts.map(() => HARMLESS) });

  it('are a BadRequestError with code, param, reasons and policy_id, streamed or not', async () => {
    const policy = { name: 'a', topic_deny_list: [{ topic: 'fruit', action: 'block' }] };
    const { json } = await api.send('POST', '/v1/guardrail-policies', { body: policy });
    const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: api.key, maxRetries: 0 });
    for (const streamed of [false, true]) {
      const messages = [{ role: 'user' as const, content: 'Tell me about fruit.' }];
      const call = openai.chat.completions.create({ ...QUESTION, messages, stream: streamed });
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        const { status, code, type, param } = error;
        assert.deepEqual(
          [status, code, type, param],
          [400, 'content_filtered', 'content_policy_violation', 'messages'],
        );
        const { reasons, policy_id } = error.error as { reasons: unknown; policy_id: unknown };
        assert.deepEqual([reasons, policy_id], [["topic 'fruit' (block)"], json.id]);
        return true;
      });
    }
  });
});

describe('openai: rate limits', () => {
  const api = useApi();

  async function client(limits: Partial<RateLimits>, maxRetries: number): Promise<OpenAI> {
    const { id, key } = await api.makeKey();
    const none = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };
    await api.db.sql
      .update(apiKeys)
      .set({ limits: { ...none, ...limits } })
      .where(eq(apiKeys.id, id));
    return new OpenAI({ baseURL: `${api.url}/v1`, apiKey: key, maxRetries });
  }

  it('429 is a RateLimitError with code, type, message and Retry-After', async () => {
    const openai = await client({ requestsPerMinute: 1 }, 0);
    await openai.chat.completions.create(QUESTION);
    await assert.rejects(openai.chat.completions.create(QUESTION), (error) => {
      assert.ok(error instanceof OpenAI.RateLimitError);
      const { status, code, type, param } = error;
      assert.deepEqual([status, code, type, param], [429, 'rate_limit_exceeded', 'rate_limit_error', null]);
      assert.match(error.message, /limit of 1 requests per minute of this API key for inference/);
      assert.equal(error.headers.get('retry-after'), '60');
      return true;
    });
  });

  it('a retry of the client waits for Retry-After, and succeeds', async () => {
    // A request every second: Retry-After is 1.
    const openai = await client({ requestsPerMinute: 60 }, 1);
    const calls = Array.from({ length: 60 }, () => openai.models.list());
    await Promise.all(calls);
    const startedAt = performance.now();
    for (;;) {
      const requestedAt = performance.now();
      await openai.models.list();
      // Timers may fire a millisecond early.
      if (performance.now() - requestedAt >= 990) break;
      assert.ok(performance.now() - startedAt < 30_000, 'no request was retried');
    }
  });

  it('a retry after the limit of concurrent requests waits for the running one, and succeeds', async () => {
    const openai = await client({ concurrent: 1 }, 1);
    const durationMs = 1_500;
    api.engine.play(async function* () {
      await pause(durationMs);
      yield* words('Hello there.');
    });
    await openai.chat.completions.create(QUESTION);
    // The slot is freed shortly after the client has seen the end of the response.
    await pause(50);
    const running = openai.chat.completions.create(QUESTION);
    await pause(200);
    const startedAt = performance.now();
    const retried = openai.chat.completions.create(QUESTION);
    assert.equal((await running).choices[0]?.message.content, 'Hello there.');
    assert.equal((await retried).choices[0]?.message.content, 'Hello there.');
    assert.ok(performance.now() - startedAt >= 2_000 - 10, 'the client has not waited for the announced two seconds');
    api.engine.play(() => stream(words('Hello there.')));
  });

  it('a request that never fits is not retried', async () => {
    const openai = await client({ tokensPerMinute: 100 }, 5);
    const requests = () => api.deps.metrics.getSingleMetricAsString('quire_rate_limited_requests_total');
    const count = async () => Number(/limit="tokens"[^}]*\} (\d+)/.exec(await requests())?.[1] ?? 0);
    const before = await count();
    const call = openai.chat.completions.create({ ...QUESTION, max_tokens: 1_000 });
    await assert.rejects(call, OpenAI.RateLimitError);
    assert.equal(await count(), before + 1);
  });
});
