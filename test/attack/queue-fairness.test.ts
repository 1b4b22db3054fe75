/** One organization floods the queue of a model; other organizations are still served. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until, useService } from '../spawned-service.ts';
import { createOrganization } from './organization-flood.ts';

/** More requests than the engine's queue of 1,024 holds. */
const FLOOD = 1_150;
/** More than one organization may have in the queue: its newest requests are evicted. */
const LARGE = 300;
/** Time limit for a request of an idle organization during the flood: a few completions on a slow machine. */
const SERVED_WITHIN_MS = 20_000;
/** Long completions keep the model busy, so that the flood does not drain during the test. */
const LONG_COMPLETION_PROMPT = { n: 16, max_tokens: 1_000, temperature: 2 };
const SHORT_ANSWER = { max_tokens: 4 };

const service = useService();

/** Statuses of the responses so far. */
function send(key: string, count: number, answer: object, signal: AbortSignal) {
  const statuses: number[] = [];
  const retryAfter = new Set<string | null>();
  const requests = Array.from({ length: count }, async () => {
    const response = await fetch(`${service.url}/v1/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'instruct-7b', prompt: 'Once', ...answer }),
      signal,
    }).catch(() => null);
    if (response === null) return;
    statuses.push(response.status);
    if (response.status === 503) retryAfter.add(response.headers.get('retry-after'));
    await response.text().catch(() => '');
  });
  return { statuses, retryAfter, ended: Promise.all(requests) };
}

/** Resolves when no response has arrived for a while. */
async function settled(statuses: readonly number[]): Promise<void> {
  for (let before = -1; before !== statuses.length; ) {
    before = statuses.length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
}

const count = (statuses: readonly number[], status: number): number => statuses.filter((one) => one === status).length;

describe('a queue that one organization fills', () => {
  it('serves other organizations, and rejects the flood first', async (t) => {
    const [flooding, large, idle] = [
      await createOrganization(service, 'flooding'),
      await createOrganization(service, 'large'),
      await createOrganization(service, 'idle'),
    ];
    const stop = new AbortController();
    const flood = send(flooding, FLOOD, LONG_COMPLETION_PROMPT, stop.signal);
    await until(() => flood.statuses.length > 0);
    await settled(flood.statuses);
    const rejectedAlone = count(flood.statuses, 503);
    const others = send(large, LARGE, LONG_COMPLETION_PROMPT, stop.signal);
    await settled(flood.statuses);
    await settled(others.statuses);
    assert.equal(count(others.statuses, 503), 0, 'an organization with fewer requests is not rejected');
    assert.ok(count(flood.statuses, 503) > rejectedAlone, 'the flood gives way');
    const started = performance.now();
    const one = send(idle, 1, SHORT_ANSWER, stop.signal);
    await one.ended;
    const waitedMs = performance.now() - started;
    assert.deepEqual(one.statuses, [200]);
    assert.ok(waitedMs < SERVED_WITHIN_MS, `${waitedMs} ms`);
    assert.deepEqual([...flood.retryAfter], ['5']);
    t.diagnostic(`flood of ${FLOOD}: ${rejectedAlone} rejected alone, ${count(flood.statuses, 503)} in the end`);
    t.diagnostic(`the idle organization waited ${Math.round(waitedMs)} ms`);
    stop.abort();
    await Promise.all([flood.ended, others.ended]);
  });
});
