import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { locatePassage, locateWords } from './locate-passage.ts';

const locate = (page: string, passage: string) => {
  const characters = [...page];
  return locatePassage(characters, passage).map(({ start, end }) => characters.slice(start, end).join(''));
};

describe('locatePassage', () => {
  it('ignores white space, hyphens, ligatures, case and accents', () => {
    assert.deepEqual(locate('x The oﬃcial exam-\nple of a Ca\u0301fe x', 'the official example of a Café'), [
      'The oﬃcial exam-\nple of a Ca\u0301fe',
    ]);
    assert.deepEqual(locate('ΟΔΥΣΣΕΥΣ ΗΛΘΕΝ ΟΙΚΑΔΕ', 'Ὀδυσσεὺς ἦλθεν οἴκαδε'), ['ΟΔΥΣΣΕΥΣ ΗΛΘΕΝ ΟΙΚΑΔΕ']);
    assert.deepEqual(locate('前文。図書館は土曜日の九時に開きます。後文', '図書館は土曜日の九時に開きます。'), [
      '図書館は土曜日の九時に開きます',
    ]);
  });

  it('finds parts in another order, and around what the text does not have', () => {
    const page = 'Monday to Friday closed\nPage 7 of the handbook\nOpening hours of the library';
    assert.deepEqual(locate(page, 'Opening hours of the library | Monday to Friday closed'), [
      'Opening hours of the library',
      'Monday to Friday closed',
    ]);
  });

  it('of equal places, takes the first, and then the one that follows', () => {
    const page = 'costs two pounds; bread costs two pounds; costs two pounds';
    const [range] = locatePassage([...page], 'costs two pounds');
    assert.equal(range?.start, 0);
    const [, next] = locatePassage([...`${page} ZZZZ`], 'bread costs two x costs two pounds');
    assert.equal(next?.start, page.lastIndexOf('costs'));
  });

  it('finds a passage shorter than a seed, and nothing for no letters', () => {
    assert.deepEqual(locate('a 12 b', '12'), ['12']);
    assert.deepEqual(locate('a 12 b', ' … '), []);
    assert.deepEqual(locate('', 'words'), []);
  });

  it('does not take a few equal words for the passage', () => {
    const passage = 'The ferry leaves the harbour of Skelby at noon on every day except Sundays and public holidays.';
    assert.deepEqual(locate('They sail at noon on every day of the year.', passage), []);
    // The end of a passage that continues from the page before.
    assert.deepEqual(locate('except Sundays and public holidays. Then', passage), [
      'except Sundays and public holidays',
    ]);
  });

  it('is fast on repetitive pages', () => {
    assert.equal(locate('na '.repeat(50_000), 'na '.repeat(5_000)).length, 1);
  });
});

describe('locateWords', () => {
  it('returns the offset of each word in a text with other spaces, hyphens and separators', () => {
    const text = '🚢 The official example: "Visitors" | 12 | pounds a day.';
    const words = ['The', 'oﬃcial', 'exam-', 'ple:', '“Visitors”', '12', 'pounds', 'a', 'day.'];
    const at = (piece: string) => text.indexOf(piece);
    const expected = ['The', 'official', 'example', 'ple:', 'Visitors', '12', 'pounds', 'a day', 'day'].map(at);
    assert.deepEqual(locateWords(words, text), expected);
  });

  it('returns -1 for words that the text lacks', () => {
    const words = ['Page', '7', 'The', 'ferry', 'leaves', 'at', 'noon.', '~~'];
    assert.deepEqual(locateWords(words, 'The ferry leaves at noon.'), [-1, -1, 0, 4, 10, 17, 20, -1]);
    assert.deepEqual(locateWords(['ferry'], ''), [-1]);
  });
});
