import { splitSentences } from '../../lib/sentences.ts';
import { detectLanguage } from '../../search/languages.ts';
import { tokenizeText } from '../../search/terms.ts';

/** A span of an answer and its source chunk. */
export interface Attribution<Chunk> {
  chunk: Chunk;
  /** Offsets in UTF-16 code units; surrogate pairs are not split. */
  start: number;
  end: number;
}

/**
 * Minimum weighted share of a sentence's terms that its source contains. With 0.5, nine of ten restated sentences are
 * attributed, and one in thirty unrelated ones (docs/develop/decisions/0013-grounding.md).
 */
const MIN_SHARE = 0.5;
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
    const chunk = findSource(termsIn(answer.slice(start, end).replace(LABELS, '')), sources);
    if (chunk === null) continue;
    const previous = attributions.at(-1);
    if (previous?.chunk === chunk && answer.slice(previous.end, start).trim() === '') previous.end = end;
    else attributions.push({ chunk, start, end });
  }
  return attributions;
}

/**
 * Spans that are never cited: the sentence that declines, and the quote of the closest passage with its introduction.
 */
function findUncited(answer: string): { start: number; end: number }[] {
  if (!DECLINES.test(answer.replaceAll('’', "'"))) return [];
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

/** The chunk with the highest share of the terms, if sufficient; the first of equal ones, which ranks highest. */
function findSource<Chunk>(own: ReadonlySet<string>, sources: readonly Source<Chunk>[]): Chunk | null {
  if (own.size < MIN_TERMS) return null;
  const weighed = [...own].map((term) => ({
    term,
    weight: inverseFrequency(term, sources),
    isNumber: /\p{N}/u.test(term),
  }));
  const total = weighed.reduce((sum, { weight }) => sum + weight, 0);
  let best: Chunk | null = null;
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

/** Inverse document frequency of BM25. */
function inverseFrequency(term: string, sources: readonly Source<unknown>[]): number {
  const having = sources.filter(({ terms }) => terms.has(term)).length;
  return Math.log(1 + (sources.length + 1) / (having + 0.5));
}

/** Returns the URL that a citation links to: a page, or an object as `s3://` or `gs://`. Null for uploaded files. */
export function citedUrl(sourceUri: string | null): string | null {
  return sourceUri !== null && /^(?:https?|s3|gs):/.test(sourceUri) ? sourceUri : null;
}
