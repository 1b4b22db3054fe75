import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, engineUnavailable } from '../errors.ts';
import { decideAdmission, FairAdmission, MAX_SCOPE_SHARE, type QueueEntry } from './fair-admission.ts';

/** Deterministic pseudo-random numbers, from 0 to below 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

const sumShares = (queued: readonly QueueEntry[], scope: string): number =>
  queued.filter((one) => one.scope === scope).reduce((sum, { share }) => sum + share, 0);

const requests = (scope: string, count: number, share: number, evictable = true): QueueEntry[] =>
  Array.from({ length: count }, () => ({ scope, share, evictable }));

/** A queue built by the policy itself; some requests have started. */
function randomQueue(next: () => number): QueueEntry[] {
  let queued: QueueEntry[] = [];
  const scopes = ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c'];
  const unit = 1 / (1 + Math.floor(next() * 16));
  for (let i = 0; i < 60; i++) {
    const scope = scopes[Math.floor(next() * scopes.length)] ?? 'a';
    const request = { scope, share: unit * (next() < 0.2 ? 3 : 1), evictable: next() < 0.8 };
    const admission = decideAdmission(queued, request);
    if ('evict' in admission) queued = [...queued.filter((_, index) => !admission.evict.includes(index)), request];
    if (next() < 0.1) queued = queued.slice(1);
  }
  return queued;
}

describe('admit, for random queues', () => {
  const cases = Array.from({ length: 600 }, (_, i) => {
    const next = random(i + 1);
    const queued = randomQueue(next);
    const request = { scope: ['a', 'b', 'c', 'd'][Math.floor(next() * 4)] ?? 'd', share: next() < 0.5 ? 0.01 : 0.2 };
    return { queued, request, admission: decideAdmission(queued, request) };
  });
  const evicting = cases.flatMap(({ queued, request, admission }) =>
    'evict' in admission && admission.evict.length > 0 ? [{ queued, request, evict: admission.evict }] : [],
  );

  it('admits without an eviction while there is room and the organization is within its limit', () => {
    for (const { queued, request, admission } of cases) {
      const total = queued.reduce((sum, { share }) => sum + share, 0);
      if (total < 1 - 1e-9 && sumShares(queued, request.scope) < MAX_SCOPE_SHARE)
        assert.deepEqual(admission, { evict: [] });
    }
  });

  it('never lets an organization beyond its limit in, however empty the queue is', () => {
    const beyond = cases.filter(({ queued, request }) => sumShares(queued, request.scope) >= MAX_SCOPE_SHARE);
    assert.ok(beyond.length > 10, String(beyond.length));
    for (const { admission } of beyond) assert.deepEqual(admission, { rejected: 'scope full' });
  });

  it('never evicts from an organization that has no more than the new request makes its own', () => {
    assert.ok(evicting.length > 10, String(evicting.length));
    for (const { queued, request, evict } of evicting) {
      const own = sumShares(queued, request.scope) + request.share;
      const left = [...queued];
      for (const index of evict) {
        const victim = queued[index]!;
        assert.ok(sumShares(left, victim.scope) > own, JSON.stringify({ victim, own }));
        left.splice(left.indexOf(victim), 1);
      }
    }
  });

  it('evicts the newest request of the largest organization that has something to evict, and no more than needed', () => {
    for (const { queued, evict } of evicting) {
      const left = [...queued];
      for (const index of evict) {
        const victim = queued[index]!;
        assert.ok(left.reduce((sum, { share }) => sum + share, 0) >= 1 - 1e-9, 'the queue was full');
        const evictable = left.filter((one) => one.evictable);
        const largest = Math.max(...evictable.map(({ scope }) => sumShares(left, scope)));
        assert.equal(sumShares(left, victim.scope), largest);
        assert.equal(
          evictable.findLast(({ scope }) => scope === victim.scope),
          victim,
        );
        left.splice(left.indexOf(victim), 1);
      }
      assert.ok(left.reduce((sum, { share }) => sum + share, 0) < 1, 'there is room now');
    }
  });

  it('rejects in a full queue of equal requests only where no organization that could give way has more', () => {
    const rejected = cases.flatMap(({ queued, request }) => {
      const equal = queued.map((one) => ({ ...one, share: 1 / queued.length }));
      const newcomer = { ...request, share: 1 / queued.length };
      return queued.length > 0 && 'rejected' in decideAdmission(equal, newcomer) ? [{ equal, newcomer }] : [];
    });
    assert.ok(rejected.length > 10, String(rejected.length));
    for (const { equal, newcomer } of rejected) {
      const own = sumShares(equal, newcomer.scope) + newcomer.share;
      const larger = equal.filter(({ evictable, scope }) => evictable && sumShares(equal, scope) > own + 1e-9);
      assert.ok(larger.length === 0 || sumShares(equal, newcomer.scope) >= MAX_SCOPE_SHARE);
    }
  });
});

describe('admit', () => {
  it('one organization that fills the queue gives way to every other', () => {
    let queued = [...requests('large', 3, 1 / 4, false), ...requests('other', 1, 1 / 4)];
    assert.deepEqual(decideAdmission(queued, { scope: 'large', share: 1 / 4 }), { rejected: 'scope full' });
    queued = requests('large', 8, 1 / 8);
    assert.deepEqual(decideAdmission(queued, { scope: 'small', share: 1 / 8 }), { evict: [7] });
  });
  it('two that have as much do not evict each other', () => {
    const queued = [...requests('a', 4, 1 / 8), ...requests('b', 4, 1 / 8)];
    assert.deepEqual(decideAdmission(queued, { scope: 'a', share: 1 / 8 }), { rejected: 'queue full' });
    assert.deepEqual(
      decideAdmission([...requests('a', 5, 1 / 8), ...requests('b', 3, 1 / 8)], { scope: 'b', share: 1 / 8 }),
      {
        evict: [4],
      },
    );
    assert.deepEqual(
      decideAdmission([...requests('b', 2, 1 / 8), ...requests('a', 6, 1 / 8)], { scope: 'b', share: 1 / 8 }),
      {
        evict: [7],
      },
    );
  });
  it('what has begun is not evicted', () => {
    const queued = requests('a', 8, 1 / 8, false);
    assert.deepEqual(decideAdmission(queued, { scope: 'b', share: 1 / 8 }), { rejected: 'queue full' });
  });
  it('a single request may be larger than the queue', () => {
    assert.deepEqual(decideAdmission([], { scope: 'a', share: 3 }), { evict: [] });
    assert.deepEqual(decideAdmission(requests('b', 1, 0.1), { scope: 'a', share: 3 }), { evict: [] });
  });
});

describe('FairAdmission', () => {
  const failed: string[] = [];
  const admission = () => new FairAdmission((message) => engineUnavailable(message, 5));
  const request = (scope: string, name: string, share = 1 / 8) => ({
    scope,
    share,
    evict: (error: ApiError) => void failed.push(`${name} ${error.status} ${error.code} ${error.retryAfterSeconds}`),
  });

  it('evicts with 503 and Retry-After, once, and never what has begun', () => {
    const gate = admission();
    const tickets = Array.from({ length: 6 }, (_, i) => gate.enter(request('a', `a${i}`)));
    gate.enter(request('b', 'b0'));
    gate.enter(request('b', 'b1'));
    tickets[5]?.markStarted();
    gate.enter(request('c', 'c0'));
    gate.enter(request('d', 'd0'));
    assert.deepEqual(failed.splice(0), ['a4 503 engine_unavailable 5', 'a3 503 engine_unavailable 5']);
    // An evicted request leaves like any other.
    tickets[4]?.leave();
    tickets[0]?.leave();
    gate.enter(request('e', 'e0'));
    assert.deepEqual(failed, []);
  });
  it('rejects with a sentence that says whose requests are too many', () => {
    const gate = admission();
    for (let i = 0; i < 6; i++) gate.enter(request('a', `a${i}`));
    const rejected = (scope: string) => {
      try {
        gate.enter(request(scope, 'x'));
      } catch (error) {
        assert.ok(error instanceof ApiError && error.status === 503 && error.retryAfterSeconds === 5);
        return error.message;
      }
      return null;
    };
    assert.match(rejected('a') ?? '', /of your organization/);
    for (let i = 0; i < 2; i++) gate.enter(request('b', `b${i}`));
    for (let i = 0; i < 2; i++) gate.enter(request('b', `b${i}`));
    assert.match(rejected('b') ?? '', /^Too many requests wait/);
  });
});
