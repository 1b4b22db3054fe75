/** Common tests of embedding, rerank and moderation engines: start, abort and close. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Backend } from '../src/engines/engine.ts';
import { ApiError } from '../src/errors.ts';

/** Common methods of these engines. */
interface TaskEngine {
  backend(): Backend;
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** An engine under test. */
export interface Subject<Engine> {
  engine: Engine;
  /** Stops the engine and the processes started for it. Safe to call after `engine.close()`. */
  close(): Promise<void>;
}

/** Two calls: a short one that checks its result, and one that keeps the engine busy. */
export interface Calls {
  short(signal: AbortSignal): Promise<unknown>;
  long(signal: AbortSignal): Promise<unknown>;
}

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** Starts the engine before the tests of a suite and stops it afterwards; available while they run. */
export function useSubject<Engine>(start: () => Promise<Subject<Engine>>): Subject<Engine> {
  const subject = {} as Subject<Engine>;
  before(async () => {
    Object.assign(subject, await start());
  });
  after(() => subject.close?.());
  return subject;
}

/** Registers the tests of a started engine, at the head of a suite. */
export function testReadiness(subject: Subject<TaskEngine>): void {
  it('is ready after its check, and reports its backend', async () => {
    await subject.engine.check(never);
    const backend = subject.engine.backend();
    assert.equal(backend.ready, true);
    assert.notEqual(backend.model, '');
  });
}

/** Registers the tests of aborts and of closing, at the end of a suite, because they close the engine. */
export function testAbortAndClose(subject: Subject<TaskEngine>, { short, long }: Calls): void {
  const isUnavailable = (error: unknown) => error instanceof ApiError && error.status === 503;

  it('throws the reason of an aborted signal immediately, and serves other calls', async () => {
    const reason = new Error('the caller has left');
    await assert.rejects(short(AbortSignal.abort(reason)), reason);
    const controller = new AbortController();
    const left = long(controller.signal);
    const other = short(never);
    controller.abort(reason);
    await assert.rejects(left, reason);
    await other;
  });

  it('close() ends running calls with 503, rejects later ones, and is idempotent', async () => {
    const ended = assert.rejects(long(never), isUnavailable);
    await subject.engine.close();
    await ended;
    await subject.engine.close();
    assert.equal(subject.engine.backend().ready, false);
    await assert.rejects(short(never), isUnavailable);
    await assert.rejects(subject.engine.check(never));
  });
}
