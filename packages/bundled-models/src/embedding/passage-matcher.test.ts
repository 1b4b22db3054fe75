import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { BUNDLED_MODELS } from '../models.ts';
import { PassageMatcher } from './passage-matcher.ts';

const matcher = new PassageMatcher(readFileSync(BUNDLED_MODELS.embedding.file));
const ANSWER = 'The password is changed on the settings page.';
const QUERY = 'Where can I change my password?';
const other = (words: number) =>
  Array.from({ length: words }, (_, i) => ['granite', 'river', 'salmon', 'harvest'][i % 4]).join(' ');

describe('PassageMatcher', () => {
  it('scores a sentence in a text of any length like the sentence in one passage', () => {
    const inOnePassage = matcher.match(QUERY, `${ANSWER} ${other(16)}`);
    assert.ok(inOnePassage > matcher.match(QUERY, other(400)) + 0.1);
    for (const before of [24, 48, 480]) {
      const inside = matcher.match(QUERY, `${other(before)} ${ANSWER} ${other(before)}`);
      assert.ok(Math.abs(inside - inOnePassage) < 0.01, `${before} words before: ${inside}, expected ${inOnePassage}`);
    }
  });

  it('reads the last words of a text, and no more than 4,096', () => {
    const alone = matcher.match('password', 'password');
    assert.ok(Math.abs(alone - 1) < 1e-6);
    for (const before of [11, 12, 13, 23, 24, 25, 35, 36, 37, 4_095]) {
      const without = matcher.match('password', other(before));
      assert.ok(matcher.match('password', `${other(before)} password`) > without + 0.1, String(before));
    }
    assert.equal(matcher.match('password', `${other(4_096)} password`), matcher.match('password', other(4_096)));
  });

  it('weighs a repeated word by the square root of its count', () => {
    const twice = matcher.match('granite granite river', 'granite river granite');
    assert.ok(Math.abs(twice - 1) < 1e-6);
    assert.ok(matcher.match('granite', 'granite granite granite granite river') < 0.97);
  });

  it('compares with the query of the call', () => {
    const [password, salmon] = [matcher.match(QUERY, ANSWER), matcher.match('salmon', ANSWER)];
    assert.ok(salmon < password);
    assert.equal(matcher.match(QUERY, ANSWER), password);
  });

  it('returns a number from -1 to 1 for blank texts and any script', () => {
    for (const text of ['', ' ', '\u0000', '東京タワーの高さ', '\ud800', '🏳️‍🌈']) {
      for (const query of ['', QUERY, '東京']) {
        const similarity = matcher.match(query, text);
        assert.ok(similarity >= -1 && similarity <= 1 + 1e-9, `${query} / ${text}: ${similarity}`);
      }
    }
  });
});
