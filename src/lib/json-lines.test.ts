import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JsonLines } from './json-lines.ts';

/** Validates a text in chunks of `size` bytes. */
function check(text: string, size = text.length || 1, maxLineBytes = 1_000_000): string | null {
  const lines = new JsonLines(maxLineBytes);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) lines.push(bytes.subarray(at, at + size));
  return lines.end();
}

/** Result of `JSON.parse` for one line. */
function isObject(line: string): boolean {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Deterministic random numbers in [0, 1). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const SAMPLES = [
  '{}',
  '{"a":[1,-0,0.5,1e9,1E-2,-12.5e+3,[],[[]],{"b":{}}],"c":"","d":null,"e":true,"f":false}',
  ' \t{ "text" : "caf\u00e9 \\"quoted\\" \\u00e9\\n\\/ \ud83d\ude00" , "n" : [ 10 , 20 ] } \r',
  '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello\\tthere"}]}',
];

describe('JsonLines', () => {
  it('accepts objects, blank lines and a byte order mark, in chunks of any size', () => {
    const text = `\ufeff${SAMPLES.join('\n')}\n\n  \r\n${SAMPLES[0]}`;
    for (const size of [1, 2, 3, 7, 1000]) assert.equal(check(text, size), null);
    assert.equal(check('{"a":1}\n'), null);
  });

  it('names the invalid line', () => {
    for (const line of ['[1]', '"text"', '1', 'null', 'not json', '{"a":1', '{"a":1}}', '{"a":1} {"b":2}', "{'a':1}"]) {
      assert.equal(check(`{}\n\n${line}\n{}`), 'line 3 is not a JSON object', line);
    }
    assert.equal(check('{"a":\n1}'), 'line 1 is not a JSON object');
    assert.equal(check('{}\n\ufeff{}'), 'line 2 is not a JSON object');
  });

  it('rejects input without objects', () => {
    for (const text of ['', '\n', ' \r\n\t\n']) assert.equal(check(text), 'it has only blank lines');
  });

  it('agrees with JSON.parse on nearly valid JSON', () => {
    const random = randomNumbers(7);
    const pick = (text: string) => text[Math.floor(random() * text.length)] as string;
    let right = 0;
    for (let round = 0; round < 30_000; round += 1) {
      const characters = [...(SAMPLES[round % SAMPLES.length] as string)];
      const edits = Math.floor(random() * 3);
      for (let edit = 0; edit < edits; edit += 1) {
        const at = Math.floor(random() * characters.length);
        characters.splice(
          at,
          Math.floor(random() * 2),
          ...(random() < 0.6 ? [pick('{}[],:"\\0159-+.eEtfnux \t\u0001')] : []),
        );
      }
      const line = characters.join('');
      const expected = isObject(line);
      if (expected) right += 1;
      const text = line.trim() === '' ? '{}' : line;
      assert.equal(check(text) === null, text === line ? expected : true, JSON.stringify(line));
    }
    assert.ok(right > 3_000 && right < 27_000, `${right} of them were right`);
  });

  it('limits the depth and the length of a line', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    assert.equal(check(nested(128)), null);
    assert.equal(check(nested(129)), 'line 1 is nested more than 128 levels deep');
    assert.equal(check(nested(1_000_000), 65_536, 10_000_000), 'line 1 is nested more than 128 levels deep');
    const long = `{"a":"${'x'.repeat(92)}"}`;
    assert.equal(check(`${long}\n${long}\n`, 10, 100), null);
    assert.equal(check(`${long}\n${long}`, 10, 99), 'line 1 has more than 99 bytes');
  });
});
