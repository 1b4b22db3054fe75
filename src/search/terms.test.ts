import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { languageOf } from './languages.ts';
import { queryTerms, termsOf } from './terms.ts';

describe('termsOf', () => {
  it('finds a word in any of its forms, however it is written', () => {
    assert.deepEqual(termsOf('The houses were RUNNING', 'en'), termsOf('house runs', 'en'));
    assert.deepEqual(termsOf('Die Häuser', 'de'), termsOf('haus', 'de'));
    assert.deepEqual(termsOf('café ﬁne', 'none'), ['cafe', 'fine']);
  });

  it('leaves out stop words of the language alone', () => {
    assert.deepEqual(termsOf('the cat', 'en'), ['cat']);
    assert.deepEqual(termsOf('the cat', 'none'), ['the', 'cat']);
  });

  it('keeps names whole, and their parts', () => {
    assert.deepEqual(termsOf('E-4711', 'en'), ['e-4711', 'e', '4711']);
    assert.deepEqual(termsOf('user_id', 'en'), ['user_id', 'user', 'id']);
    assert.deepEqual(termsOf('C++ C#', 'en'), ['c++', 'c', 'c#', 'c']);
    assert.deepEqual(termsOf('getUserName', 'none'), ['getusername', 'get', 'user', 'name']);
    assert.ok(termsOf('see v1.2.3.', 'en').includes('v1.2.3'));
    assert.ok(termsOf('0x80070057', 'en').includes('0x80070057'));
  });

  it('finds a word with capitals inside in any spelling', () => {
    for (const name of ['OpenAI', 'PostgreSQL', 'XMLHttpRequest', 'McDonalds', 'userId2']) {
      const found = new Set(termsOf(`see ${name}.`, 'en'));
      for (const typed of [name, name.toLowerCase(), name.toUpperCase()]) {
        assert.ok(
          termsOf(typed, 'en').some((term) => found.has(term)),
          typed,
        );
      }
    }
  });

  it('takes words that a hyphen joins for words', () => {
    assert.deepEqual(termsOf('well-known', 'en'), ['well', 'known']);
    assert.deepEqual(termsOf("the dog's bone", 'en'), ['dog', 'bone']);
  });

  it('cuts scripts without spaces into pairs, so that a part of a run is found', () => {
    assert.deepEqual(termsOf('東京都', 'none'), ['東京', '京都']);
    assert.deepEqual(termsOf('木', 'none'), ['木']);
    assert.deepEqual(termsOf('LanceDBは速い', 'none'), ['lancedb', 'lance', 'db', 'は速', '速い']);
  });

  it('gives no term with white space in it, and none that is longer than any word', () => {
    const odd = `\u0000 \u200f ${'x'.repeat(1000)} a_${'b'.repeat(100)} 😀 \ud800 ½ ﷺ`;
    for (const term of termsOf(odd, 'en')) assert.match(term, /^\S{1,64}$/u);
    assert.deepEqual(termsOf(' \n', 'en'), []);
  });
});

describe('queryTerms', () => {
  it('counts a word as often as the query has it', () => {
    assert.deepEqual(queryTerms('cat and cats', ['en']), ['cat', 'cat']);
  });

  it('looks for the stems of each language once', () => {
    assert.deepEqual(queryTerms('houses', ['en', 'de', 'none']).sort(), ['hous', 'houses'].sort());
    assert.deepEqual(queryTerms('cat', ['en', 'none']), ['cat']);
  });

  it('leaves out what is a stop word in any of the languages', () => {
    assert.deepEqual(queryTerms('the cat', ['en', 'de']), ['cat']);
  });
});

describe('languageOf', () => {
  it('tells languages by their small words', () => {
    assert.equal(languageOf('The service starts when the database is there and it has a key.'), 'en');
    assert.equal(languageOf('Der Dienst startet, wenn die Datenbank da ist und er einen Schlüssel hat.'), 'de');
    assert.equal(languageOf('Le service démarre quand la base est là et que les clés ont été créées.'), 'fr');
  });

  it('takes what is most likely for the script where there are too few', () => {
    assert.equal(languageOf('Install guide'), 'en');
    assert.equal(languageOf('Установка'), 'ru');
    assert.equal(languageOf('日本語の文書'), 'none');
    assert.equal(languageOf(''), 'none');
  });
});
