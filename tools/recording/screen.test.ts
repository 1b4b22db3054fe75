import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { draw } from './draw.ts';
import { Screen } from './screen.ts';

const shown = (screen: Screen) => screen.versions.map(({ line, fromMs, text }) => `${fromMs} ${line}: ${text}`);

describe('a recorded terminal', () => {
  it('remembers what each line has shown, and when', () => {
    const screen = new Screen();
    screen.prompt('$ work', 0);
    screen.write('\r1 of 2, some time left\u001b[K', 1000);
    screen.write('\r2 of 2\u001b[K', 2000);
    screen.write('\r\ndone\r\n', 2500);
    assert.deepEqual(shown(screen), [
      '0 0: $ work',
      '1000 1: 1 of 2, some time left',
      '2000 1: 2 of 2',
      '2500 2: done',
    ]);
    assert.equal(screen.height, 4);
  });

  it('takes what follows at once for one', () => {
    const screen = new Screen();
    screen.write('An ans', 100);
    screen.write('wer', 120);
    screen.write('.', 900);
    assert.deepEqual(shown(screen), ['100 0: An answer', '900 0: An answer.']);
  });

  it('refuses what it would show wrong', () => {
    assert.throws(() => new Screen().write('\u001b[31mred', 0), /a control that is not drawn/);
    assert.throws(() => new Screen().write('x'.repeat(200), 0), /longer than/);
  });

  it('is drawn with its last state for those who see no movement, and nothing of it is markup', () => {
    const screen = new Screen();
    screen.write('1', 0);
    screen.write('\r<b> & "c"', 1000);
    const [first = '', last = ''] = draw('Title', screen.versions, { lines: 1, endMs: 2000 }).match(/<text x.*/g) ?? [];
    assert.match(first, /opacity="0".*>1<\/text>/);
    assert.match(last, /id="t1" textLength.*>&#60;b&#62; &#38; &#34;c&#34;<\/text>/);
  });
});
