import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProgressLine } from './progress-line.ts';

describe('ProgressLine', () => {
  function render(isTTY: boolean, steps: readonly [ms: number, bytes: number][], totalBytes: number | null = 100e6) {
    const written: string[] = [];
    let now = 0;
    const line = new ProgressLine({ isTTY, columns: 100, write: (text) => written.push(text) }, () => now);
    for (const [ms, receivedBytes] of steps) {
      now = ms;
      line.show({ receivedBytes, totalBytes });
    }
    line.end();
    line.end();
    return written;
  }

  it('overwrites one line on a terminal, with bar, rate and remaining time', () => {
    const written = render(true, [
      [0, 0],
      [100, 1e6],
      [1000, 10e6],
      [2000, 25e6],
    ]);
    assert.equal(written.length, 4);
    assert.ok(written.slice(0, 3).every((text) => text.startsWith('\r') && text.endsWith('\x1b[K')));
    assert.equal(written[2], '\r[######..................]  25 %  25.0 MB of 100 MB  12.5 MB/s  0:06 left\x1b[K');
    assert.equal(written[3], '\n');
  });

  it('prints a line every five seconds elsewhere, and one at the end', () => {
    const written = render(false, [
      [0, 0],
      [1000, 10e6],
      [6000, 60e6],
      [7000, 100e6],
    ]);
    assert.equal(written.length, 3);
    assert.match(written[1] ?? '', /^\[#{14}\.{10}\] {2}60 % {2}60\.0 MB of 100 MB {2}10\.0 MB\/s {2}0:04 left\n$/);
    assert.match(written[2] ?? '', /100 %.*0:00 left\n$/);
  });

  it('prints received bytes when the total is unknown', () => {
    assert.deepEqual(render(false, [[0, 5e6]], null), ['5.0 MB\n']);
  });
});
