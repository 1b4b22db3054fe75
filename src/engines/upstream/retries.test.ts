import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDeadline } from '../../../test/deadline.ts';
import { engineUnavailable } from '../../errors.ts';
import type { Replica, Replicas } from './replicas.ts';
import { inAttempts } from './retries.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';

describe('inAttempts', () => {
  it('ends the wait before a retry as soon as the signal aborts, and makes no other attempt', async () => {
    const replica = { inFlight: 0 } as Replica;
    const replicas = { all: [replica], choose: () => replica } as unknown as Replicas;
    const context = { replicas, timeouts: { ...DEFAULT_TIMEOUTS, retrySeconds: 20 } };
    const controller = new AbortController();
    const failure = { error: engineUnavailable('It is gone.', 1), again: true, waitSeconds: null };
    let attempts = 0;
    const once = async () => {
      attempts += 1;
      return failure;
    };
    const running = inAttempts(context, once, controller.signal);
    await new Promise(setImmediate);
    controller.abort(new Error('the caller left'));
    await withDeadline('the end of the wait', assert.rejects(running, /the caller left/), 5);
    assert.equal(attempts, 1);
  });
});
