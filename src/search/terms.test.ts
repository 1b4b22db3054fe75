import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detectLanguage } from './languages.ts';
import { tokenizeQuery, tokenizeText } from './terms.ts';

describe('tokenizeText', () => {
  it('normalizes inflection, case and accents', () => {
    assert.deepEqual(tokenizeText('The houses were RUNNING', 'en'), tokenizeText('house runs', 'en'));
    assert.deepEqual(tokenizeText('Die Häuser', 'de'), tokenizeText('haus', 'de'));
    assert.deepEqual(tokenizeText('café ﬁne', 'none'), ['cafe', 'fine']);
  });

  it('drops stop words of the language only', () => {
    assert.deepEqual(tokenizeText('the cat', 'en'), ['cat']);
    assert.deepEqual(tokenizeText('the cat', 'none'), ['the', 'cat']);
  });

  it('keeps identifiers whole and in parts', () => {
    assert.deepEqual(tokenizeText('E-4711', 'en'), ['e-4711', 'e', '4711']);
    assert.deepEqual(tokenizeText('user_id', 'en'), ['user_id', 'user', 'id']);
    assert.deepEqual(tokenizeText('C++ C#', 'en'), ['c++', 'c', 'c#', 'c']);
    assert.deepEqual(tokenizeText('getUserName', 'none'), ['getusername', 'get', 'user', 'name']);
    assert.ok(tokenizeText('see v1.2.3.', 'en').includes('v1.2.3'));
    assert.ok(tokenizeText('0x80070057', 'en').includes('0x80070057'));
  });

  it('matches camel case in any spelling', () => {
    for (const name of ['OpenAI', 'PostgreSQL', 'XMLHttpRequest', 'McDonalds', 'userId2']) {
      const found = new Set(tokenizeText(`see ${name}.`, 'en'));
      for (const typed of [name, name.toLowerCase(), name.toUpperCase()]) {
        assert.ok(
          tokenizeText(typed, 'en').some((term) => found.has(term)),
          typed,
        );
      }
    }
  });

  it('splits hyphenated words', () => {
    assert.deepEqual(tokenizeText('well-known', 'en'), ['well', 'known']);
    assert.deepEqual(tokenizeText("the dog's bone", 'en'), ['dog', 'bone']);
  });

  it('splits scripts without spaces into bigrams', () => {
    assert.deepEqual(tokenizeText('東京都', 'none'), ['東京', '京都']);
    assert.deepEqual(tokenizeText('木', 'none'), ['木']);
    assert.deepEqual(tokenizeText('LanceDBは速い', 'none'), ['lancedb', 'lance', 'db', 'は速', '速い']);
  });

  it('returns no term with white space and none above the maximum length', () => {
    const odd = `\u0000 \u200f ${'x'.repeat(1000)} a_${'b'.repeat(100)} 😀 \ud800 ½ ﷺ`;
    for (const term of tokenizeText(odd, 'en')) assert.match(term, /^\S{1,64}$/u);
    assert.deepEqual(tokenizeText(' \n', 'en'), []);
  });
});

describe('tokenizeQuery', () => {
  it('repeats a word as often as the query', () => {
    assert.deepEqual(tokenizeQuery('cat and cats', ['en']), ['cat', 'cat']);
  });

  it('includes the stems of each language once', () => {
    assert.deepEqual(tokenizeQuery('houses', ['en', 'de', 'none']).sort(), ['hous', 'houses'].sort());
    assert.deepEqual(tokenizeQuery('cat', ['en', 'none']), ['cat']);
  });

  it('drops stop words of any of the languages', () => {
    assert.deepEqual(tokenizeQuery('the cat', ['en', 'de']), ['cat']);
  });

  it('takes the first 1,024 terms of a long query, in each language its share', () => {
    const words = Array.from({ length: 1_100 }, (_, i) => `q${i}`);
    assert.deepEqual(tokenizeQuery(words.join(' '), ['none']), words.slice(0, 1_024));
    assert.deepEqual(tokenizeQuery(words.slice(0, 1_024).join('\n'), ['none']), words.slice(0, 1_024));
    assert.equal(tokenizeQuery('東'.repeat(1_100), ['none']).length, 1_024);
    const houses = Array.from(
      { length: 1_100 },
      (_, i) => `${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10) % 10]}x houses`,
    );
    assert.ok(tokenizeQuery(houses.join(' '), ['en', 'none']).length <= 1_024);
    assert.ok(tokenizeQuery(houses.join(' '), ['en', 'none']).includes('houses'));
  });
});

describe('detectLanguage', () => {
  it('detects languages by stop words', () => {
    assert.equal(detectLanguage('The service starts when the database is there and it has a key.'), 'en');
    assert.equal(detectLanguage('Der Dienst startet, wenn die Datenbank da ist und er einen Schlüssel hat.'), 'de');
    assert.equal(detectLanguage('Le service démarre quand la base est là et que les clés ont été créées.'), 'fr');
  });

  it('falls back to the script with too few stop words', () => {
    assert.equal(detectLanguage('Install guide'), 'en');
    assert.equal(detectLanguage('Установка'), 'ru');
    assert.equal(detectLanguage('日本語の文書'), 'none');
    assert.equal(detectLanguage(''), 'none');
  });
});
