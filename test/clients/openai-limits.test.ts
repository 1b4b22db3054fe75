import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import OpenAI from 'openai';
import { apiKeys } from '../../src/accounts/tables.ts';
import type { RateLimits } from '../../src/lib/caller.ts';
import { useApi } from '../harness.ts';

const QUESTION = { model: 'general-8b', messages: [{ role: 'user' as const, content: 'Hello' }], max_tokens: 10 };

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
      assert.deepEqual([error.status, error.code, error.type], [429, 'rate_limit_exceeded', 'rate_limit_error']);
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
