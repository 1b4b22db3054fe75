import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { rejectOnAbort } from './reject-on-abort.ts';

describe('rejectOnAbort', () => {
  it('settles like the promise, and leaves no listener', async () => {
    const { signal } = new AbortController();
    assert.equal(await rejectOnAbort(Promise.resolve(1), signal), 1);
    await assert.rejects(rejectOnAbort(Promise.reject(new Error('fault')), signal), /fault/);
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  it('rejects with the reason, before or after the call, and a later failure is not unhandled', async () => {
    const caller = new AbortController();
    const late = Promise.withResolvers<never>();
    const waiting = rejectOnAbort(late.promise, caller.signal);
    caller.abort(new Error('the caller left'));
    await assert.rejects(waiting, /the caller left/);
    await assert.rejects(rejectOnAbort(Promise.resolve(1), caller.signal), /the caller left/);
    await assert.rejects(rejectOnAbort(Promise.reject(new Error('fault')), caller.signal), /the caller left/);
    late.reject(new Error('fault'));
    // An unhandled rejection fails the test.
    await new Promise(setImmediate);
  });
});
