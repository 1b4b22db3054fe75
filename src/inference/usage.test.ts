import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { frames, useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { usageRecords } from '../billing/tables.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { contextLengthExceeded, engineUnavailable } from '../errors.ts';

describe('usage', () => {
  const api = useApi();
  const chat = (body: object = {}) =>
    api.send('POST', '/v1/chat/completions', {
      body: { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }], ...body },
    });
  const selectRecords = (requestId: string | null) =>
    api.db.sql
      .select()
      .from(usageRecords)
      .where(eq(usageRecords.requestId, requestId ?? ''));

  it('is durable before the answer ends, once, under the request id', async () => {
    api.engine.play(() => stream(words('one two three', 'stop', 5)));
    for (const body of [{}, { stream: true }]) {
      const { headers } = await chat(body);
      const [record, ...more] = await selectRecords(headers.get('x-request-id'));
      assert.deepEqual(more, []);
      assert.equal(record?.outcome, 'completed');
      assert.deepEqual([record?.promptTokens, record?.completionTokens, record?.cachedTokens], [5, 3, 0]);
      assert.deepEqual([record?.endpoint, record?.model], ['/v1/chat/completions', 'general-8b']);
    }
  });

  it('has the time in the queue of the engine, as a part of the duration', async () => {
    api.engine.play(async function* () {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const [, ...answer] = words('one');
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0, queueMs: 12.4 };
      yield* answer;
    });
    const { headers } = await chat();
    const [record] = await selectRecords(headers.get('x-request-id'));
    assert.equal(record?.queueMs, 12);
    assert.ok(record.durationMs >= record.queueMs);
  });

  it('has the time to the first token of streams', async () => {
    api.engine.play(async function* () {
      const [promptEnd, first, ...others] = words('one two');
      if (promptEnd) yield promptEnd;
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (first) yield first;
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield* others;
    });
    const readTimes = async (stream: boolean) => {
      const { headers } = await chat({ stream });
      const [record] = await selectRecords(headers.get('x-request-id'));
      return { firstTokenMs: record?.firstTokenMs, durationMs: record?.durationMs ?? 0 };
    };
    const { firstTokenMs, durationMs } = await readTimes(true);
    assert.ok(typeof firstTokenMs === 'number' && firstTokenMs >= 19 && durationMs - firstTokenMs >= 19);
    assert.equal((await readTimes(false)).firstTokenMs, null);
  });

  it('is recorded under the route, not under the URL with its query', async () => {
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };
    const { headers } = await api.send('POST', '/v1/chat/completions?trace=1', { body });
    const [record] = await selectRecords(headers.get('x-request-id'));
    assert.equal(record?.endpoint, '/v1/chat/completions');
  });

  it('counts what was produced when the engine breaks off, streamed and not', async () => {
    const broken = async function* (): AsyncGenerator<GenerationEvent> {
      yield { type: 'prompt-end', promptTokens: 4, cachedTokens: 0 };
      yield { type: 'text-delta', choice: 0, text: 'a b', tokens: 2 };
      throw engineUnavailable('The engine stopped.', 1);
    };
    api.engine.play(broken);
    const whole = await chat();
    assert.deepEqual([whole.status, whole.json.error.code], [503, 'engine_unavailable']);
    assert.equal(whole.headers.get('retry-after'), '1');
    const streamed = await chat({ stream: true });
    const all = frames(streamed.text);
    assert.equal(streamed.status, 200);
    assert.equal(JSON.parse(all.at(-1) ?? '').error.code, 'engine_unavailable');
    assert.ok(!all.includes('[DONE]'));
    for (const { headers } of [whole, streamed]) {
      const [record] = await selectRecords(headers.get('x-request-id'));
      assert.deepEqual([record?.outcome, record?.promptTokens, record?.completionTokens], ['failed', 4, 2]);
    }
  });

  it('a failure before the first event keeps its status in a stream', async () => {
    api.engine.play(() => {
      throw contextLengthExceeded('messages', 9000, 4096);
    });
    const answer = await chat({ stream: true });
    assert.deepEqual(
      [answer.status, answer.json.error.code, answer.json.error.param],
      [400, 'context_length_exceeded', 'messages'],
    );
  });

  it("a prompt that fills the contract's context is refused although the engine would take it", async () => {
    api.engine.play(() => stream(words('x', 'stop', 4096)));
    const answer = await chat();
    assert.deepEqual(
      [answer.status, answer.json.error.code, answer.json.error.param],
      [400, 'context_length_exceeded', 'messages'],
    );
  });
});
