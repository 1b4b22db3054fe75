import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';
import { decodeByteSymbols } from './byte-symbols.ts';

/** Minimum characters of a segment: some ten milliseconds of tokenization. */
const MIN_SEGMENT_CHARACTERS = 4_096;
/**
 * Maximum characters of a segment. A longer text without a boundary is cut, which may change the tokens at the cut: the
 * time of some tokenizers is quadratic, 25 s for 400,000 Chinese characters.
 */
const MAX_SEGMENT_CHARACTERS = 8_192;
/** Between two words, before the space that every tokenizer keeps with the second one. */
const WORD_BOUNDARY = /[A-Za-z](?= [A-Za-z])/g;
/** Before a punctuation mark that ends a clause of Chinese or Japanese, which has no spaces. */
const CLAUSE_BOUNDARY = /[\u3041-\u30fe\u4e00-\u9fff](?=[。、，])/g;
const CLAUSE_MARKS = ['。', '、', '，'].map((mark) => Buffer.from(mark));
const MARK_BYTES = 3;
/** What may precede such a mark; a partial character may be the end of any. */
const CLAUSE_END = /[\u3041-\u30fe\u4e00-\u9fff\ufffd]$/;
/** A token that may contain the start of a mark after other text, in either spelling: a cheap first test. */
const HOLDS_MARK = /.[ãï。、，]/su;
/** A token with the end of one word and the space before the next, in any spelling of the space. */
const SPANS_WORDS = /[A-Za-z][Ġ▁ ]/;

/** Type of control tokens in a GGUF. */
const CONTROL_TYPE = 3;

/** Tokenizes a text. */
export type Tokenize = (text: string) => readonly number[];

/**
 * Splits long texts where the segments have the same tokens as the whole text: no token of the vocabulary, and so no
 * merge of tokens, spans such a boundary.
 */
export class TextSplitter {
  /** Each matches the character before a boundary. Empty: texts are never split. */
  readonly #boundaries: RegExp[];
  /** The tokenizer puts a space before each text, so the space at the boundary is dropped. */
  readonly #addsSpace: boolean;

  constructor(model: LlamaModel, tokenize: Tokenize) {
    const { tokens: spellings, token_type: types } = model.fileInfo.metadata.tokenizer.ggml;
    const type = model.vocabularyType;
    // Merges of a byte-level vocabulary never produce a control token, whatever its spelling.
    const isText = (_: string, token: number): boolean =>
      type !== LlamaVocabularyType.bpe || types?.[token] !== CONTROL_TYPE;
    const isKnown = type === LlamaVocabularyType.bpe || type === LlamaVocabularyType.spm;
    const [first] = isKnown ? tokenize('a') : [];
    this.#addsSpace = first !== undefined && beginsWithSpace(spellings[first] ?? '');
    this.#boundaries = (isKnown ? safeBoundaries(spellings.filter(isText)) : []).filter(
      // A space inserted before a mark would not be part of the text.
      (place) => !(place === CLAUSE_BOUNDARY && this.#addsSpace) && this.#isSafe(place, tokenize),
    );
  }

  /** Yields the segments of a text, in order. */
  *split(text: string): Generator<string, void, undefined> {
    // Each boundary is searched for from the last one on, so that a long text is scanned once.
    const ahead = new Map(this.#boundaries.map((place) => [place, -1]));
    let from = 0;
    while (text.length - from > MIN_SEGMENT_CHARACTERS) {
      const boundary = nextBoundary(ahead, text, from + MIN_SEGMENT_CHARACTERS) ?? text.length;
      const to = Math.min(boundary, characterStart(text, from + MAX_SEGMENT_CHARACTERS));
      yield text.slice(from, to);
      if (to === text.length) return;
      from = this.#addsSpace && (to === boundary || text[to] === ' ') ? to + 1 : to;
    }
    yield text.slice(from);
  }

  /** Verifies a boundary with this tokenizer on samples: an unexpected behaviour disables splitting. */
  #isSafe(place: RegExp, tokenize: Tokenize): boolean {
    return SAMPLES.every((sample) => {
      place.lastIndex = 0;
      const match = place.exec(sample);
      if (match === null) return true;
      const at = match.index + 1;
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

/**
 * Returns the first boundary at `from` or later. `ahead` caches the last match of each kind; kinds without further
 * matches are removed.
 */
function nextBoundary(ahead: Map<RegExp, number>, text: string, from: number): number | null {
  for (const [place, known] of ahead) {
    if (known >= from) continue;
    place.lastIndex = from - 1;
    const match = place.exec(text);
    if (match === null) ahead.delete(place);
    else ahead.set(place, match.index + 1);
  }
  return ahead.size === 0 ? null : Math.min(...ahead.values());
}

/** `at`, or the start of the surrogate pair around it. */
function characterStart(text: string, at: number): number {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at;
}

function safeBoundaries(spellings: readonly string[]): RegExp[] {
  return [
    ...(spellings.some((spelling) => SPANS_WORDS.test(spelling)) ? [] : [WORD_BOUNDARY]),
    ...(spellings.some((spelling) => HOLDS_MARK.test(spelling) && spansClauses(decodeByteSymbols(spelling)))
      ? []
      : [CLAUSE_BOUNDARY]),
  ];
}

/** Whether a token contains the end of a possible clause and the start of its punctuation mark. */
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
