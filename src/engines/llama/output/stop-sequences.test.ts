import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Utf8Decoder } from '../tokenizer/utf8-decoder.ts';
import { TextScanner } from './stop-sequences.ts';

/** Returns the emitted text and the match when `text` arrives in fragments of so many characters. */
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

describe('stop sequences', () => {
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
    it(`'${text}' with ${JSON.stringify(wanted)} is the same however the text is split`, () => {
      for (let size = 1; size <= Math.max(1, text.length); size++)
        assert.deepEqual(scan(text, wanted, size), { shown, found });
    });
  }
  it('buffers no more than a possible match', () => {
    const scanner = new TextScanner(['stop']);
    assert.equal(scanner.push('a st').clear, 'a ');
    assert.equal(scanner.push('ar').clear, 'star');
    assert.deepEqual(scanner.push('x stop y'), { clear: 'x ', found: 'stop', rest: ' y' });
  });
  it('no stop sequence buffers nothing', () => assert.equal(new TextScanner(['']).push('abc').clear, 'abc'));
});

describe('Utf8Decoder', () => {
  it('returns whole characters, however the bytes are split', () => {
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
  it('invalid UTF-8 becomes U+FFFD, and an incomplete character is dropped', () => {
    const pieces = new Utf8Decoder();
    assert.equal(pieces.push(Uint8Array.of(0xff, 0x61)), '\ufffda');
    assert.equal(pieces.push(Uint8Array.of(0xe2, 0x82)), '');
  });
});
