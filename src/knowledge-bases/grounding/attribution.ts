import { type SentenceSpan, splitSentences } from '../../lib/sentences.ts';
import { detectLanguage } from '../../search/languages.ts';
import { tokenizeText } from '../../search/terms.ts';

/** A span of an answer and its source chunk. */
export interface Attribution<Chunk> {
  chunk: Chunk;
  /** Offsets in UTF-16 code units; surrogate pairs are not split. */
  start: number;
  end: number;
  /** The passage: the sentences of the chunk's text that the span restates. */
  passage: SentenceSpan;
}

/**
 * Minimum weighted share of a sentence's terms that its source contains. With 0.5, nine of ten restated sentences are
 * attributed, and one in thirty unrelated ones (docs/develop/decisions/0013-grounding.md).
 */
const MIN_SHARE = 0.5;
/** Share of the terms that a chunk has in common with a sentence which the passage must contain. */
const PASSAGE_SHARE = 0.8;
/** Separates the cells of a row, as `formatTableRow` writes them. */
const CELL_SEPARATOR = ' | ';
/** Minimum terms of a sentence with a source. */
const MIN_TERMS = 2;
/** List numbers and printed citation markers, which are ignored. */
const LABELS = /^\s*(?:[-*•]\s+|\(?\d{1,3}[.)]\s+)+|\[\d{1,3}\]/g;
/** A sentence that declines to answer. */
const DECLINES =
  /^\W*(?:(?:sorry|i(?:'m| am) sorry|unfortunately)\b[, ]*(?:but )?)?(?:(?:i|we) (?:could not|couldn't|cannot|can't|did not|didn't|was not able to|were not able to|am unable to) find\b|the (?:provided )?documents (?:do not|don't) (?:mention|contain|say|hold|answer|state)\b)/i;
/** Thousands separators. */
const THOUSANDS = /(?<=\d)[,.'’\u00a0\u202f](?=\d{3}(?!\d))/g;

/**
 * Attributes the sentences of an answer to chunks: to the one with the highest IDF-weighted share of the sentence's
 * terms that contains all of its numbers. Compares texts instead of relying on markers printed by the model. Adjacent
 * sentences of one chunk are merged. A sentence that declines has no source, and neither have block quotes below it,
 * which show the closest passage.
 */
export function attribute<Chunk extends { text: string }>(
  answer: string,
  chunks: readonly Chunk[],
): Attribution<Chunk>[] {
  if (chunks.length === 0) return [];
  // The answer alone is often too short to detect its language.
  const language = detectLanguage([answer, ...chunks.map(({ text }) => text)].join('\n'));
  const termsIn = (text: string): Set<string> => new Set(tokenizeText(text.replace(THOUSANDS, ''), language));
  const sources = chunks.map((chunk) => ({ chunk, terms: termsIn(chunk.text) }));
  const attributions: Attribution<Chunk>[] = [];
  const uncited = findUncited(answer);
  for (const { start, end } of splitSentences(answer)) {
    if (uncited.some((span) => start < span.end && end > span.start)) continue;
    const terms = weighTerms(termsIn(answer.slice(start, end).replace(LABELS, '')), sources);
    const chunk = findSource(terms, sources);
    if (chunk === null) continue;
    const passage = findPassage(terms, chunk.text, termsIn);
    const previous = attributions.at(-1);
    if (previous?.chunk === chunk && answer.slice(previous.end, start).trim() === '') {
      previous.end = end;
      previous.passage = {
        start: Math.min(previous.passage.start, passage.start),
        end: Math.max(previous.passage.end, passage.end),
      };
    } else attributions.push({ chunk, start, end, passage });
  }
  return attributions;
}

/** The lines of a text. Rows of a table are no sentences. */
function splitLines(text: string): SentenceSpan[] {
  return Array.from(text.matchAll(/\S.*/g), ({ index, 0: line }) => ({ start: index, end: index + line.length }));
}

/** The shortest run of sentences with most of the weight of the terms that the text contains. */
function findPassage(
  terms: readonly WeighedTerm[],
  text: string,
  termsIn: (text: string) => ReadonlySet<string>,
): SentenceSpan {
  const spans = text.includes(CELL_SEPARATOR) ? splitLines(text) : splitSentences(text);
  const sentences = spans.map(({ start, end }) => ({ start, end, has: termsIn(text.slice(start, end)) }));
  const required = PASSAGE_SHARE * sumWeights(terms.filter(({ term }) => sentences.some(({ has }) => has.has(term))));
  let shortest: SentenceSpan = { start: 0, end: text.length };
  for (const [first, { start }] of sentences.entries()) {
    const missing = new Set(terms);
    let weight = 0;
    for (const { end, has } of sentences.slice(first)) {
      if (end - start >= shortest.end - shortest.start) break;
      for (const each of missing) {
        if (!has.has(each.term)) continue;
        missing.delete(each);
        weight += each.weight;
      }
      if (weight < required) continue;
      shortest = { start, end };
      break;
    }
  }
  return shortest;
}

/** Whether an English answer begins by saying that the documents do not hold the answer. */
export function declines(answer: string): boolean {
  return DECLINES.test(answer.replaceAll('’', "'"));
}

/**
 * Spans that are never cited: the sentence that declines, and the quote of the closest passage with its introduction.
 */
function findUncited(answer: string): { start: number; end: number }[] {
  if (!declines(answer)) return [];
  const quotes = Array.from(answer.matchAll(/^>.*$/gm), ({ index, 0: line }) => ({
    start: index,
    end: index + line.length,
  }));
  const end = quotes[0]?.start ?? splitSentences(answer)[0]?.end ?? 0;
  return [{ start: 0, end }, ...quotes];
}

/** A chunk with its distinct terms. */
interface Source<Chunk> {
  chunk: Chunk;
  terms: ReadonlySet<string>;
}

/** A term of a sentence. */
interface WeighedTerm {
  term: string;
  weight: number;
  isNumber: boolean;
}

function weighTerms(terms: ReadonlySet<string>, sources: readonly Source<unknown>[]): WeighedTerm[] {
  return [...terms].map((term) => ({
    term,
    weight: inverseFrequency(term, sources),
    isNumber: /\p{N}/u.test(term),
  }));
}

const sumWeights = (terms: readonly WeighedTerm[]): number => terms.reduce((sum, { weight }) => sum + weight, 0);

/** The chunk with the highest share of the terms, if sufficient; the first of equal ones, which ranks highest. */
function findSource<Chunk>(own: readonly WeighedTerm[], sources: readonly Source<Chunk>[]): Chunk | null {
  if (own.length < MIN_TERMS) return null;
  const total = sumWeights(own);
  let best: Chunk | null = null;
  let most = 0;
  for (const { chunk, terms } of sources) {
    if (own.some(({ term, isNumber }) => isNumber && !terms.has(term))) continue;
    const sum = sumWeights(own.filter(({ term }) => terms.has(term)));
    if (sum < total * MIN_SHARE || sum <= most) continue;
    best = chunk;
    most = sum;
  }
  return best;
}

/** Inverse document frequency of BM25. */
function inverseFrequency(term: string, sources: readonly Source<unknown>[]): number {
  const having = sources.filter(({ terms }) => terms.has(term)).length;
  return Math.log(1 + (sources.length + 1) / (having + 0.5));
}
