import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMPILATION_SLICE_MS, type CompilerState, MAX_RUNNING, nextAction } from './compile-scheduler.ts';

type Waiting = CompilerState['waiting'][number];
const waits = (scope: string, arrivedAt = 0, isLong = false): Waiting => ({ scope, arrivedAt, isLong });
const runs = (scope: string, ranMs: number, isLong = false) => ({ scope, ranMs, isLong });
const decide = (
  waiting: CompilerState['waiting'],
  running: CompilerState['running'] = [],
  lastStartedAt: Record<string, number> = {},
) => nextAction({ waiting, running, lastStartedAt: new Map(Object.entries(lastStartedAt)) });

describe('scheduling of compilations', () => {
  it('starts the first one, and does nothing without one', () => {
    assert.equal(decide([]), null);
    assert.equal(decide([], [runs('a', 1)]), null);
    assert.deepEqual(decide([waits('a', 5), waits('b', 6)]), { start: 0 });
  });

  it('starts another organization beside one that runs, not a second new one of the same', () => {
    assert.deepEqual(decide([waits('a'), waits('b', 9)], [runs('a', 100)]), { start: 1 });
    assert.deepEqual(decide([waits('a')], [runs('a', 100)]), { waitMs: COMPILATION_SLICE_MS - 100 });
    assert.deepEqual(decide([waits('a')], [runs('a', COMPILATION_SLICE_MS)]), { start: 0 });
  });

  it('takes turns: an organization that started later comes later, whenever its compilations arrived', () => {
    const running = [runs('c', 0)];
    assert.deepEqual(decide([waits('a', 1), waits('b', 5)], running, { a: 6 }), { start: 1 });
    assert.deepEqual(decide([waits('a', 1), waits('b', 5)], running, { a: 4 }), { start: 0 });
  });

  it('preempts nothing while a thread is free, except the second long one of the same organization', () => {
    const long = [runs('a', 2 * COMPILATION_SLICE_MS), runs('a', COMPILATION_SLICE_MS)];
    assert.deepEqual(decide([waits('b')], long), { start: 0 });
    assert.deepEqual(decide([waits('a')], long), { preempt: 1 });
  });

  it('preempts the youngest long one for a new one when no thread is free', () => {
    const full = [
      runs('a', 5 * COMPILATION_SLICE_MS),
      runs('b', COMPILATION_SLICE_MS),
      runs('c', 2 * COMPILATION_SLICE_MS),
    ];
    assert.equal(full.length, MAX_RUNNING);
    assert.deepEqual(decide([waits('d')], full), { preempt: 1 });
    assert.equal(decide([], full), null);
    const repeated = [
      runs('a', 5 * COMPILATION_SLICE_MS),
      runs('a', 2 * COMPILATION_SLICE_MS),
      runs('b', COMPILATION_SLICE_MS),
    ];
    assert.deepEqual(decide([waits('d')], repeated), { preempt: 1 });
  });

  it('waits for the slice of the new one when two long ones run, which keep their threads', () => {
    const full = [
      runs('a', 5 * COMPILATION_SLICE_MS),
      runs('b', COMPILATION_SLICE_MS + 1),
      runs('c', COMPILATION_SLICE_MS - 30),
    ];
    assert.deepEqual(decide([waits('d')], full), { waitMs: 30 });
  });

  it('never preempts a compilation twice', () => {
    const full = [runs('a', 1, true), runs('b', 1, true), runs('c', COMPILATION_SLICE_MS)];
    assert.deepEqual(decide([waits('d')], full), { preempt: 2 });
  });

  it('starts a preempted one on a free thread, one per organization, and leaves a thread to new ones', () => {
    assert.deepEqual(decide([waits('a', 0, true)], [runs('b', 1)]), { start: 0 });
    assert.equal(decide([waits('a', 0, true)], [runs('a', 1, true)]), null);
    assert.equal(decide([waits('c', 0, true)], [runs('a', 1, true), runs('b', COMPILATION_SLICE_MS)]), null);
  });

  it('one preempted compilation runs however many new ones arrive', () => {
    const waiting = [waits('a', 9, true), waits('b', 1), waits('c', 2)];
    assert.deepEqual(decide(waiting), { start: 0 });
    assert.deepEqual(decide(waiting, [runs('d', 1, true)]), { start: 1 });
  });
});

describe('a simulated flood', () => {
  it('a new compilation of another organization starts within one slice per organization, and every one ends', () => {
    const needMs = (scope: string): number => (scope.startsWith('hostile') ? 8_000 : 20);
    interface Job extends Waiting {
      startedAt: number | null;
    }
    let jobs: Job[] = ['hostile1', 'hostile2', 'hostile3', 'hostile4'].flatMap((scope) =>
      Array.from({ length: 5 }, (_, i) => ({ ...waits(scope, i), startedAt: null })),
    );
    const lastStartedAt = new Map<string, number>();
    const delays: number[] = [];
    let ended = 0;
    for (let now = 0; now < 400_000; now += 10) {
      if (now % 3_000 === 0 && now < 60_000) jobs.push({ ...waits('quiet', now), startedAt: null });
      const isOver = (job: Job): boolean => job.startedAt !== null && now - job.startedAt >= needMs(job.scope);
      ended += jobs.filter(isOver).length;
      jobs = jobs.filter((job) => !isOver(job));
      for (;;) {
        const waiting = jobs.filter(({ startedAt }) => startedAt === null);
        const running = jobs.filter(({ startedAt }) => startedAt !== null);
        const action = nextAction({
          waiting,
          running: running.map((job) => ({ ...job, ranMs: now - (job.startedAt ?? now) })),
          lastStartedAt,
        });
        const started = action !== null && 'start' in action ? waiting[action.start] : undefined;
        const preempted = action !== null && 'preempt' in action ? running[action.preempt] : undefined;
        assert.ok(running.length <= MAX_RUNNING);
        if (started !== undefined) {
          if (started.scope === 'quiet') delays.push(now - started.arrivedAt);
          lastStartedAt.set(started.scope, now);
          started.startedAt = now;
        } else if (preempted !== undefined) {
          preempted.startedAt = null;
          preempted.isLong = true;
        } else break;
      }
    }
    assert.equal(delays.length, 20);
    assert.ok(Math.max(...delays) <= 5 * COMPILATION_SLICE_MS, `${delays}`);
    assert.deepEqual([ended, jobs.length], [40, 0]);
  });
});
