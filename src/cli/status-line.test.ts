import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusLine } from './status-line.ts';

describe('StatusLine', () => {
  it('estimates the remaining time of a phase from the rate of that phase', () => {
    const written: string[] = [];
    let now = 0;
    const line = new StatusLine({ isTTY: true, columns: 100, write: (text) => written.push(text) }, () => now);
    for (const [ms, what, done, total] of [
      [0, 'uploading', 0, 4],
      [1000, 'uploading  1 failed', 1, 4],
      [4000, 'uploading  1 failed', 4, 4],
      [5000, 'ingesting  9 chunks', 100, 300],
      [7000, 'ingesting  12 chunks', 101, 300],
    ] as const) {
      now = ms;
      line.show(what, { done, total });
    }
    line.end();
    assert.deepEqual(written, [
      '\r[........................] 0/4 uploading\x1b[K',
      '\r[######..................] 1/4 uploading  1 failed  0:03 left\x1b[K',
      '\r[########################] 4/4 uploading  1 failed\x1b[K',
      '\n',
      '\r[########................] 100/300 ingesting  9 chunks\x1b[K',
      '\r[########................] 101/300 ingesting  12 chunks  6:38 left\x1b[K',
      '\n',
    ]);
  });
});
