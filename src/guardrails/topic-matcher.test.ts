import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalizeText, TopicMatcher } from './topic-matcher.ts';

const matched = (topics: readonly string[], text: string): string[] =>
  new TopicMatcher(topics.map((topic) => ({ topic, action: 'block' }) as const))
    .match(normalizeText(text))
    .map(({ topic }) => topic);

describe('TopicMatcher', () => {
  const cases: [topic: string, text: string, isMatch: boolean][] = [
    ['hate', 'I hate this', true],
    ['hate', 'my hatred of injustice', false],
    ['hate', 'HATE', true],
    ['hate', 'they hate.', true],
    ['hate', '(hate)', true],
    ['hate', 'whate hates', false],
    ['hate', 'snake_hate', false],
    ['hate', 'hate2', false],
    ['hate', 'whatever; hate', true],
    ['project falcon', 'the Project Falcon', true],
    ['project falcon', 'subproject falconry', true],
    ['project falcon', 'project  falcon', false],
    ['straße', 'STRASSE', true],
    ['strasse', 'die Straße', true],
    ['ΟΔΟΣ', 'η οδος', true],
    ['ταΐζω', 'ΤΑΪ\u0301ΖΩ', true],
    ['café', 'cafe\u0301', true],
    ['cafe', 'cafe\u0301', false],
    ['hate', 'ｈａｔｅ', true],
    ['c++', 'we write C++', true],
    ['c++', 'c++11', true],
    ['c++', 'abc++', false],
    ['.net', 'asp.net', true],
    ['毒品', '他卖毒品给我', true],
    ['ยาเสพติด', 'ขายยาเสพติดที่นี่', true],
    ['kırmızı', 'KIRMIZI', true],
    ['𐐨', 'a 𐐀 b', true],
    ['𐐨', '𐐀𐐀', false],
    ['hate', '𐐀hate', false],
    ['hate', 'hate\u0301', false],
    ['hate', '', false],
  ];
  for (const [topic, text, isMatch] of cases) {
    it(`${isMatch ? 'finds' : 'does not find'} '${topic}' in '${text}'`, () =>
      assert.deepEqual(matched([topic], text), isMatch ? [topic] : []));
  }

  it('finds topics that overlap and that contain each other, in the order of the deny list', () => {
    const topics = ['she sells', 'he sells', 'sells', 'he', 'sells sea shells'];
    assert.deepEqual(matched(topics, 'She sells sea shells'), ['she sells', 'he sells', 'sells', 'sells sea shells']);
  });

  it('finds a topic once, at its first match that is a whole word', () => {
    const matcher = new TopicMatcher([{ topic: 'cat', action: 'warn' }]);
    assert.deepEqual(matcher.match('concat cat cat'), [{ topic: 'cat', action: 'warn', start: 7, end: 10 }]);
    assert.equal(matcher.matchAll('concat cat cat').length, 2);
  });

  it('finds what a search for each topic alone finds, in random texts', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const word = () => Array.from({ length: 1 + random(4) }, () => 'ab_ß'[random(4)]).join('');
    for (let round = 0; round < 300; round += 1) {
      const topics = [...new Set(Array.from({ length: 8 }, () => (random(3) === 0 ? `${word()} ${word()}` : word())))];
      const text = Array.from({ length: 30 }, () => `${word()}${' .'[random(2)]}`).join('');
      const expected = topics.filter((topic) => findNaively(normalizeText(topic), normalizeText(text)));
      assert.deepEqual(matched(topics, text), expected, `${topics} in ${text}`);
    }
  });

  /** The rules of the contract by a regular expression. */
  function findNaively(topic: string, text: string): boolean {
    if (topic.includes(' ')) return text.includes(topic);
    const word = '[\\p{L}\\p{M}\\p{N}\\p{Pc}]';
    return new RegExp(`(?<!${word})${topic}(?!${word})`, 'u').test(text);
  }

  it('takes 1,000 topics of 256 characters', () => {
    const topics = Array.from({ length: 1_000 }, (_, i) => `${'x'.repeat(250)}${i}`);
    assert.deepEqual(matched(topics, `a ${topics[999]} b`), [topics[999]]);
  });
});
