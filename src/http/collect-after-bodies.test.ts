import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collectAfterBodies } from './collect-after-bodies.ts';

const MIB = 1024 * 1024;

describe('collectAfterBodies', () => {
  it('collects once, ten seconds after 32 MiB of bodies were released', (t) => {
    const timers: { run: () => void; delayMs: number }[] = [];
    t.mock.method(globalThis, 'setTimeout', (run: () => void, delayMs: number) => {
      timers.push({ run, delayMs });
      return { unref: () => timers };
    });
    const released = collectAfterBodies();
    released(31 * MIB);
    released(MIB - 1);
    assert.equal(timers.length, 0);
    released(1);
    released(64 * MIB);
    assert.deepEqual(
      timers.map(({ delayMs }) => delayMs),
      [10_000],
    );
    timers[0]?.run();
    released(31 * MIB);
    assert.equal(timers.length, 1);
    released(MIB);
    assert.equal(timers.length, 2);
  });
});
