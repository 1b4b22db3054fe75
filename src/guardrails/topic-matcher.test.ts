import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalizeText, toSkeleton } from './normalize-text.ts';
import { TopicMatcher } from './topic-matcher.ts';

/** The topics that are found, in the order of the deny list. */
function matched(topics: readonly string[], text: string, normalize = normalizeText): string[] {
  const matcher = new TopicMatcher(
    topics.map((topic) => ({ topic, action: 'block' })),
    normalize,
  );
  const found = new Set([...matcher.match(normalize(text))].map(({ index }) => index));
  return topics.filter((_, index) => found.has(index));
}

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
    ['project falcon', 'project, falcon', false],
    ['project falcon', 'projectfalcon', false],
    ['project falcon', 'project\u200bfalcon', false],
    ['project \t falcon', 'Project Falcon', true],
    ['pro\u00adject falcon', 'project falcon', true],
    ['hate\u200b', 'I hate this', true],
    ['hate', 'hate\u200bful', false],
    ['hate', 'I\u200bhate', false],
    ['\u200b', 'a b', false],
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

  const blanks = [
    ' ',
    '  ',
    '\n',
    '\t',
    '\r\n',
    ' \n ',
    '\v',
    '\f',
    '\u0085',
    '\u00a0',
    '\u1680',
    '\u2009',
    '\u2028',
    '\u3000',
    '\u2800',
  ];
  it('takes white space of every kind and length for one space', () => {
    for (const blank of [...blanks, blanks.join(''), ' '.repeat(10_000)]) {
      assert.deepEqual(matched(['project falcon'], `the project${blank}falcon`), ['project falcon'], escape(blank));
      assert.deepEqual(matched([`project${blank}falcon`], 'the project falcon').length, 1, escape(blank));
      assert.deepEqual(matched(['hate'], `I${blank}hate${blank}this`), ['hate'], escape(blank));
    }
  });

  it('ignores invisible characters: default-ignorable ones, tags, variation selectors and controls', () => {
    const points = [
      0x00, 0x01, 0x1f, 0x7f, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200d, 0x200e,
    ];
    points.push(
      0x202e,
      0x2060,
      0x2064,
      0x2069,
      0x206a,
      0x3164,
      0xfe00,
      0xfe0f,
      0xfeff,
      0xffa0,
      0xfff9,
      0xfffc,
      0x1bca0,
      0x1d173,
    );
    for (const point of [...points, 0xe0001, 0xe0061, 0xe0100, 0xe0fff]) {
      const invisible = String.fromCodePoint(point);
      const text = [...'in Project Falcon'].join(invisible.repeat(2));
      assert.deepEqual(matched(['project falcon', 'falcon'], text).length, 2, point.toString(16));
    }
  });

  it('finds lookalikes in skeletons, by the same rules for words and phrases', () => {
    const found = (topic: string, text: string) => matched([topic], text, toSkeleton).length > 0;
    const lookalikes: [topic: string, text: string][] = [
      // Cyrillic small letters and capitals, Greek capitals, fullwidth, digits, `rn` for `m`, Cherokee.
      ['hate', 'I h\u0430t\u0435 this'],
      ['HATE', 'I \u041d\u0410\u0422\u0415 this'],
      ['hate', 'I \u0397\u0391\u03a4\u0395 this'],
      ['kill', 'K\u0406LL'],
      ['kill', 'kiII'],
      ['project falcon', 'pr0ject \u2009 fa1c\u200b\u043en'],
      ['bomb', 'a bornb'],
      ['bomb', 'a BOMB'],
      ['weed', '\u13d4eed'],
      ['caf\u00e9', 'c\u0430fe\u0301'],
      ['cr\u00e8me', 'cr\u0450me'],
      ['CR\u00c8ME', 'cr\u0450me'],
      ['\u0439o', '\u0419O'],
    ];
    for (const [topic, text] of lookalikes) {
      assert.ok(found(topic, text), `${topic} in ${escape(text)}`);
      assert.ok(
        found(
          text
            .trim()
            .split(/^I | this$|^a /)
            .join(''),
          topic,
        ),
        `${escape(text)} in ${topic}`,
      );
    }
    assert.ok(!found('hate', 'h\u0430tred'));
    assert.ok(!found('hate', 'h\u0430te\u0301'));
    assert.ok(!found('\u304b', '\u304c'), 'か and が');
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
