import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';
import { decodeByteSymbols } from './byte-symbols.ts';

/** Characters of a piece at least: some ten milliseconds of work for a tokenizer. */
const MIN_SEGMENT_CHARACTERS = 4_096;
/** Between two words, before the space that every tokenizer keeps with the second one. */
const WORD_BOUNDARY = /[A-Za-z](?= [A-Za-z])/g;
/** Before a mark that ends a clause of Chinese or Japanese, which has no spaces. */
const CLAUSE_BOUNDARY = /[\u3041-\u30fe\u4e00-\u9fff](?=[。、，])/g;
const CLAUSE_MARKS = ['。', '、', '，'].map((mark) => Buffer.from(mark));
const MARK_BYTES = 3;
/** What may stand before such a mark. Half a character may be the end of any. */
const CLAUSE_END = /[\u3041-\u30fe\u4e00-\u9fff\ufffd]$/;
/** A token that may hold the beginning of a mark after something else, in either spelling: spares looking closer. */
const HOLDS_MARK = /.[ãï。、，]/su;
/** A token that holds the end of one word and the space before the next; spellings of the space are many. */
const SPANS_WORDS = /[A-Za-z][Ġ▁ ]/;

/** A control token, in a GGUF's list of types. */
const CONTROL_TYPE = 3;

/** What is asked of a tokenizer. */
export type Tokenize = (text: string) => readonly number[];

/**
 * Cuts long texts where a tokenizer makes the same tokens of the pieces as of the whole. No token of the vocabulary
 * spans such a place, and so no merge of tokens does; what comes before a letter's end, or begins with a space or a
 * mark, is split off by any pattern that splits words beforehand.
 */
export class TextSplitter {
  /** Each matches one character, after which it is. None: this tokenizer is given texts whole. */
  readonly #boundaries: RegExp[];
  /** The tokenizer puts a space before each text, which is then not left in it. */
  readonly #addsSpace: boolean;

  constructor(model: LlamaModel, tokenize: Tokenize) {
    const { tokens: spellings, token_type: types } = model.fileInfo.metadata.tokenizer.ggml;
    const type = model.vocabularyType;
    // Merges of a byte-level vocabulary never make a control token, whatever its spelling is.
    const isText = (_: string, token: number): boolean =>
      type !== LlamaVocabularyType.bpe || types?.[token] !== CONTROL_TYPE;
    const isKnown = type === LlamaVocabularyType.bpe || type === LlamaVocabularyType.spm;
    const [first] = isKnown ? tokenize('a') : [];
    this.#addsSpace = first !== undefined && beginsWithSpace(spellings[first] ?? '');
    this.#boundaries = (isKnown ? safeBoundaries(spellings.filter(isText)) : []).filter(
      // A space that is put before a mark would be one that the text does not have.
      (place) => !(place === CLAUSE_BOUNDARY && this.#addsSpace) && this.#isSafe(place, tokenize),
    );
  }

  /** The pieces of a text, in order, each to be tokenised by itself. */
  *split(text: string): Generator<string, void, undefined> {
    // Each place is looked for from the last one on only, so that a long text is gone through once.
    const ahead = new Map(this.#boundaries.map((place) => [place, -1]));
    let from = 0;
    while (text.length - from > MIN_SEGMENT_CHARACTERS) {
      const to = nextBoundary(ahead, text, from + MIN_SEGMENT_CHARACTERS);
      if (to === null) break;
      yield text.slice(from, to);
      from = this.#addsSpace ? to + 1 : to;
    }
    yield text.slice(from);
  }

  /** Tries it: whatever this tokenizer does that is not foreseen here, it does not get texts in pieces for it. */
  #isSafe(place: RegExp, tokenize: Tokenize): boolean {
    return SAMPLES.every((sample) => {
      place.lastIndex = 0;
      const found = place.exec(sample);
      if (found === null) return true;
      const at = found.index + 1;
      const whole = tokenize(sample);
      const parts = [...tokenize(sample.slice(0, at)), ...tokenize(sample.slice(this.#addsSpace ? at + 1 : at))];
      return whole.length === parts.length && whole.every((token, index) => token === parts[index]);
    });
  }
}

const SAMPLES = [
  'the end of a word and the next',
  'It is\n\n\nA b',
  'return x  y;\treturn Z',
  'DON\'T stop "I" say',
  '猫が座った。犬も、いた',
  '他说，好的。',
];

/** The first place at `from` or later. `ahead` holds where each kind was found last; those that come no more leave it. */
function nextBoundary(ahead: Map<RegExp, number>, text: string, from: number): number | null {
  for (const [place, known] of ahead) {
    if (known >= from) continue;
    place.lastIndex = from - 1;
    const found = place.exec(text);
    if (found === null) ahead.delete(place);
    else ahead.set(place, found.index + 1);
  }
  return ahead.size === 0 ? null : Math.min(...ahead.values());
}

function safeBoundaries(spellings: readonly string[]): RegExp[] {
  return [
    ...(spellings.some((spelling) => SPANS_WORDS.test(spelling)) ? [] : [WORD_BOUNDARY]),
    ...(spellings.some((spelling) => HOLDS_MARK.test(spelling) && spansClauses(decodeByteSymbols(spelling)))
      ? []
      : [CLAUSE_BOUNDARY]),
  ];
}

/** Whether a token holds the end of what may stand before a clause's mark, or of half of it, and the mark's beginning. */
function spansClauses(bytes: Uint8Array): boolean {
  for (let at = 1; at < bytes.length; at += 1) {
    const rest = bytes.subarray(at, at + MARK_BYTES);
    const beginsMark = CLAUSE_MARKS.some((mark) => rest.every((byte, index) => byte === mark[index]));
    if (beginsMark && CLAUSE_END.test(Buffer.from(bytes.subarray(0, at)).toString())) return true;
  }
  return false;
}

function beginsWithSpace(spelling: string): boolean {
  return /^[▁Ġ ]/.test(spelling);
}
