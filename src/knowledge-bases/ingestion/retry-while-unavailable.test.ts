import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineUnavailable, invalidValue } from '../../errors.ts';
import { EmbedderUnavailable, retryWhileUnavailable } from './retry-while-unavailable.ts';

const never = new AbortController().signal;

/** Throws the errors in turn, then returns `done`. */
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

describe('retryWhileUnavailable', () => {
  const calling = (call: () => Promise<string>, { engine = {}, outageSeconds = 60 } = {}) =>
    retryWhileUnavailable(call, { engine, signal: never, retry: { delaysSeconds: [0, 0], outageSeconds } });

  it('retries while the engine is unavailable, also during a longer outage', async () => {
    for (const failures of [1, 2, 20]) {
      const { calls, call } = failing(Array(failures).fill(busy));
      assert.equal(await calling(call), 'done');
      assert.equal(calls.count, failures + 1);
    }
  });

  it('gives up after the last delay when the engine serves other calls', async () => {
    const engine = {};
    const { calls, call } = failing(Array(20).fill(busy));
    const refused = async () => {
      await calling(failing([]).call, { engine });
      return call();
    };
    await assert.rejects(calling(refused, { engine }), { code: 'server_error', cause: busy });
    assert.equal(calls.count, 3);
  });

  it('throws EmbedderUnavailable after an outage', async () => {
    await assert.rejects(calling(failing([busy]).call, { outageSeconds: 0 }), EmbedderUnavailable);
  });

  it('throws other errors immediately', async () => {
    const wrong = invalidValue('input', 'is wrong');
    const { calls, call } = failing([wrong]);
    await assert.rejects(calling(call), wrong);
    assert.equal(calls.count, 1);
  });

  it('stops waiting on abort', async () => {
    const stopping = new AbortController();
    const retry = { delaysSeconds: [3600], outageSeconds: 3600 };
    const waiting = retryWhileUnavailable(failing([busy]).call, { engine: {}, signal: stopping.signal, retry });
    setImmediate(() => stopping.abort());
    await assert.rejects(waiting, { name: 'AbortError' });
  });
});
