import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Bm25 } from './bm25.ts';
import { stem } from './stemmer.ts';
import { terms } from './terms.ts';

/** Words of the algorithm's description with the stems of the reference implementation. */
const STEMS = {
  ...{
    consign: 'consign',
    consigned: 'consign',
    consigning: 'consign',
    consignment: 'consign',
    consistency: 'consist',
  },
  ...{
    knackeries: 'knackeri',
    knavish: 'knavish',
    knots: 'knot',
    kiwis: 'kiwi',
    gas: 'gas',
    this: 'this',
    cries: 'cri',
  },
  ...{ ties: 'tie', dies: 'die', caresses: 'caress', focus: 'focus', news: 'news', skies: 'sky', dying: 'die' },
  ...{
    proceeds: 'proceed',
    inning: 'inning',
    agreed: 'agre',
    feed: 'feed',
    exceedingly: 'exceed',
    luxuriated: 'luxuri',
  },
  ...{ hopping: 'hop', hoped: 'hope', hoping: 'hope', falling: 'fall', bled: 'bled', sing: 'sing', disabled: 'disabl' },
  ...{ by: 'by', say: 'say', cry: 'cri', youth: 'youth', boyish: 'boyish', flying: 'fli', saying: 'say' },
  ...{ relational: 'relat', conditional: 'condit', analogies: 'analog', logically: 'logic', hopefulness: 'hope' },
  ...{ sensibility: 'sensibl', triplicate: 'triplic', formative: 'format', electrical: 'electr', goodness: 'good' },
  ...{ adoption: 'adopt', replacement: 'replac', opinion: 'opinion', generate: 'generat', generous: 'generous' },
  ...{ communal: 'communal', arsenal: 'arsenal', rate: 'rate', cease: 'ceas', controlled: 'control', roll: 'roll' },
  ...{ bead: 'bead', ow: 'ow', owed: 'owe', uses: 'use', used: 'use', '1990s': '1990s', x86: 'x86' },
};

describe('Bm25', () => {
  it('stems English words as Snowball does', () => {
    for (const [word, stemmed] of Object.entries(STEMS)) assert.equal(stem(word), stemmed, word);
  });

  it('tokenizes letters and digits without accents, stop words and long runs', () => {
    assert.deepEqual(terms('The Cafés of São-Paulo_2, e.g. ２!'), ['cafe', 'sao', 'paulo', '2', 'e', 'g', '2']);
    assert.deepEqual(terms(`${'x'.repeat(40)} ${'y'.repeat(41)}`), ['x'.repeat(40)]);
    // In Hindi, the virama is dropped and vowel signs separate words, as in Python's and Rust's simple tokenizers.
    assert.deepEqual(terms('हिन्दी'), ['ह', 'नद']);
    assert.deepEqual(terms('日本語の文'), ['日本語の文']);
  });

  it('scores by the formula, computed by hand', () => {
    const index = new Bm25(['red apples', 'apple pie, apple tart and pears', 'green grass']);
    // Lengths 2, 5, 2, mean 3. Idf of a term in two of three: ln(1 + 1.5 / 2.5), in one: ln(1 + 2.5 / 1.5).
    const common = Math.log(1.6);
    const rare = Math.log(1 + 2.5 / 1.5);
    const short = 1.2 * (0.25 + (0.75 * 2) / 3);
    const long = 1.2 * (0.25 + (0.75 * 5) / 3);
    const [first, second, third] = index.scores('apple grass apples');
    const near = (value: number | undefined, wanted: number): void =>
      assert.ok(Math.abs((value ?? Number.NaN) - wanted) < 1e-5, `${value} and not ${wanted}`);
    near(first, (2 * common * 2.2) / (1 + short));
    near(second, (2 * common * 2 * 2.2) / (2 + long));
    near(third, (rare * 2.2) / (1 + short));
    assert.deepEqual([...index.scores('the zebra')], [0, 0, 0]);
  });
});
