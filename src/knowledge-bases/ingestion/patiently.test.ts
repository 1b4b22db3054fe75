import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineUnavailable, invalidValue } from '../../errors.ts';
import { patiently } from './patiently.ts';

const never = new AbortController().signal;

/** Fails as often as there are errors, then gives `done`. */
function failing(errors: Error[]) {
  const calls = { count: 0 };
  const call = async () => {
    const error = errors[calls.count];
    calls.count += 1;
    if (error !== undefined) throw error;
    return 'done';
  };
  return { calls, call };
}

const busy = engineUnavailable('It has too much to do.', 1);

describe('patiently', () => {
  it('asks an engine again that cannot answer at present', async () => {
    const { calls, call } = failing([busy, busy]);
    assert.equal(await patiently(call, never, [0, 0, 0]), 'done');
    assert.equal(calls.count, 3);
  });

  it('gives up after its last pause, and at once for any other error', async () => {
    await assert.rejects(patiently(failing([busy, busy, busy]).call, never, [0, 0]), busy);
    const wrong = invalidValue('input', 'is wrong');
    const { calls, call } = failing([wrong]);
    await assert.rejects(patiently(call, never, [0, 0]), wrong);
    assert.equal(calls.count, 1);
  });

  it('does not sleep on when it is told to stop', async () => {
    const stopping = new AbortController();
    const waiting = patiently(failing([busy]).call, stopping.signal, [3600]);
    setImmediate(() => stopping.abort());
    await assert.rejects(waiting, { name: 'AbortError' });
  });
});
