import type { Frequencies } from './frequencies.ts';
import { stemOf } from './stems.ts';

/** What is known of a word, whatever text it stands in. */
export interface Word {
  text: string;
  stem: string;
  idf: number;
  /** Whether it says nothing of what a text is about. */
  isFunction: boolean;
}

/** Words kept at once; when there are more, all are forgotten. */
const MAX_WORDS = 65_536;

/** Words of questions and sentences that carry no matter of their own. */
const FUNCTION_WORDS = new Set(
  (
    'a about after all also am an and any are as at be because been before being both but by can could did do does ' +
    'doing done during each either for from had has have having he her here hers him his how i if in into is it its ' +
    'just may me might more most much must my no nor not of off on one only or other our out over own s same shall ' +
    'she should so some such t than that the their them then there these they this those through to too under until ' +
    'up us very was we were what when where which while who whom whose why will with would you your many name called ' +
    'find information tell interested like want know please give show articles article'
  ).split(' '),
);

/** Words by their text, with stem and rarity; shared by all calls. */
export class Lexicon {
  readonly #frequencies: Frequencies;
  readonly #words = new Map<string, Word>();

  constructor(frequencies: Frequencies) {
    this.#frequencies = frequencies;
  }

  /** The word of a text in lower case, as the embedding model's words are. */
  word(text: string): Word {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    if (this.#words.size >= MAX_WORDS) this.#words.clear();
    const stem = stemOf(text);
    const word = { text, stem, idf: this.#frequencies.idf(stem), isFunction: FUNCTION_WORDS.has(text) };
    this.#words.set(text, word);
    return word;
  }
}
