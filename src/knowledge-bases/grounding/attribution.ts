import { splitSentences } from '../../lib/sentences.ts';
import { detectLanguage } from '../../search/languages.ts';
import { tokenizeText } from '../../search/terms.ts';
import type { ContextChunk } from './gather-context.ts';

/** A part of an answer and the chunk that it says the same as. */
export interface Attribution {
  chunk: ContextChunk;
  /** UTF-16 code units of the answer, as JavaScript counts; no character is parted. */
  start: number;
  end: number;
}

/**
 * The part of a sentence's terms, by weight, that a chunk must have to be its source. With a half, nine of ten restated sentences found their
 * chunk, and one in thirty that came from none was given one (docs/decisions/0013-grounding.md).
 */
const MIN_SHARE = 0.5;
/** A sentence of fewer terms says too little to come from anywhere. */
const MIN_TERMS = 2;
/** The number of an item, and marks of sources that a model has printed: no part of what is said. */
const LABELS = /^\s*(?:[-*•]\s+|\(?\d{1,3}[.)]\s+)+|\[\d{1,3}\]/g;
/** What parts the thousands of a number, as some write it and others do not. */
const THOUSANDS = /(?<=\d)[,.'’\u00a0\u202f](?=\d{3}(?!\d))/g;

/**
 * Which chunk each sentence of an answer is from: the one that has the most of its terms, a term counting more the fewer chunks have it, and
 * all of its numbers. Told by comparing, never by a marker that the model prints. Sentences in a row from one chunk are one attribution.
 */
export function attribute(answer: string, chunks: readonly ContextChunk[]): Attribution[] {
  if (chunks.length === 0) return [];
  // An answer alone is often too short to tell its language.
  const language = detectLanguage([answer, ...chunks.map(({ text }) => text)].join('\n'));
  const termsIn = (text: string): Set<string> => new Set(tokenizeText(text.replace(THOUSANDS, ''), language));
  const sources = chunks.map((chunk) => ({ chunk, terms: termsIn(chunk.text) }));
  const found: Attribution[] = [];
  for (const { start, end } of splitSentences(answer)) {
    const chunk = sourceOf(termsIn(answer.slice(start, end).replace(LABELS, '')), sources);
    if (chunk === null) continue;
    const previous = found.at(-1);
    if (previous?.chunk === chunk && answer.slice(previous.end, start).trim() === '') previous.end = end;
    else found.push({ chunk, start, end });
  }
  return found;
}

/** A chunk with its distinct terms. */
interface Source {
  chunk: ContextChunk;
  terms: ReadonlySet<string>;
}

/** The chunk that has the most of the terms, if that are enough; of equal ones the first, which fits the question best. */
function sourceOf(own: ReadonlySet<string>, sources: readonly Source[]): ContextChunk | null {
  if (own.size < MIN_TERMS) return null;
  const weighed = [...own].map((term) => ({ term, weight: weightOf(term, sources), isNumber: /\p{N}/u.test(term) }));
  const total = weighed.reduce((sum, { weight }) => sum + weight, 0);
  let best: ContextChunk | null = null;
  let most = 0;
  for (const { chunk, terms } of sources) {
    if (weighed.some(({ term, isNumber }) => isNumber && !terms.has(term))) continue;
    const sum = weighed.reduce((shared, { term, weight }) => shared + (terms.has(term) ? weight : 0), 0);
    if (sum < total * MIN_SHARE || sum <= most) continue;
    best = chunk;
    most = sum;
  }
  return best;
}

/** How telling a term is among so few texts: the inverse document frequency of BM25. */
function weightOf(term: string, sources: readonly Source[]): number {
  const having = sources.filter(({ terms }) => terms.has(term)).length;
  return Math.log(1 + (sources.length + 1) / (having + 0.5));
}
