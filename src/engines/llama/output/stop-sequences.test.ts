import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Utf8Decoder } from '../tokenizer/utf8-decoder.ts';
import { TextScanner } from './stop-sequences.ts';

/** What is shown and found when `text` comes in pieces of so many characters. */
function scan(text: string, wanted: string[], size: number): { shown: string; found: string | null } {
  const scanner = new TextScanner(wanted);
  let shown = '';
  for (let at = 0; at < text.length; at += size) {
    const { clear, found } = scanner.push(text.slice(at, at + size));
    shown += clear;
    if (found !== null) return { shown, found };
  }
  return { shown: shown + scanner.release(), found: null };
}

describe('stop texts', () => {
  const cases: [string, string[], string, string | null][] = [
    ['one two three', ['two'], 'one ', 'two'],
    ['one two three', ['four'], 'one two three', null],
    ['aaab', ['aab'], 'a', 'aab'],
    ['ababac', ['abac'], 'ab', 'abac'],
    ['xab', ['ab', 'b'], 'x', 'ab'],
    ['xab', ['b', 'ab'], 'x', 'ab'],
    ['xabc', ['c', 'abc', 'bc'], 'x', 'abc'],
    ['abc', ['abc', 'b'], 'a', 'b'],
    ['half <|en', ['<|end|>'], 'half <|en', null],
    ['', ['x'], '', null],
  ];
  for (const [text, wanted, shown, found] of cases) {
    it(`'${text}' with ${JSON.stringify(wanted)} is the same however it is cut`, () => {
      for (let size = 1; size <= Math.max(1, text.length); size++)
        assert.deepEqual(scan(text, wanted, size), { shown, found });
    });
  }
  it('holds back no more than what may be a beginning', () => {
    const scanner = new TextScanner(['stop']);
    assert.equal(scanner.push('a st').clear, 'a ');
    assert.equal(scanner.push('ar').clear, 'star');
    assert.deepEqual(scanner.push('x stop y'), { clear: 'x ', found: 'stop', rest: ' y' });
  });
  it('no wanted text holds nothing back', () => assert.equal(new TextScanner(['']).push('abc').clear, 'abc'));
});

describe('pieces of UTF-8', () => {
  it('give whole characters, wherever the bytes are cut', () => {
    const text = 'aé€😀\ufeffz';
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = new Utf8Decoder();
      let joined = '';
      for (let at = 0; at < bytes.length; at += size) {
        const piece = pieces.push(bytes.subarray(at, at + size));
        assert.ok(piece.isWellFormed());
        joined += piece;
      }
      assert.equal(joined, text);
    }
  });
  it('bytes that are no UTF-8 become U+FFFD, and an unfinished character is not told', () => {
    const pieces = new Utf8Decoder();
    assert.equal(pieces.push(Uint8Array.of(0xff, 0x61)), '\ufffda');
    assert.equal(pieces.push(Uint8Array.of(0xe2, 0x82)), '');
  });
});
