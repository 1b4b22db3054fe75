import type { AnswerType } from './answer-type.ts';
import { addScaled, dotProduct, eachUnit, NORM_STRIDE, type PreparedQuery, type WordMatch } from './query.ts';

/** Words of a document that are read. */
const MAX_WORDS = 65_536;
/** Words of a passage window. */
const WINDOW_WORDS = 24;
/** Words at the beginning of a document that usually state its topic. */
const OPENING_WORDS = 16;
/** Words at least this similar to a term are weak matches of it. */
const WEAK_MATCH = 0.45;
/** Similarities of the words that are counted: distantly and closely related ones. */
const DISTANT = { min: 0.25, max: 0.4 };
const CLOSE_MIN = 0.6;
/** BM25 parameters. The average length is that of a passage. */
const K1 = 1.2;
const B = 0.75;
const AVERAGE_WORDS = 130;
/** A sum of IDF of this size is scaled to 0.5. */
const MEDIAN_IDF_SUM = 20;
/** A document that refers to the text before it. */
const STARTS_WITH_PRONOUN =
  /^\W*(?:he|she|it|they|this|these|that|those|his|her|its|their|such|however|but|and|also)\b/i;
const MAX_PRONOUN_CHARACTERS = 40;

/** The inputs of the scoring network, in order; the network's weights name them. */
export const FEATURES = [
  'maxsim',
  'maxsim of absent terms',
  'cosine',
  'bm25',
  'absolute bm25',
  'coverage',
  'absolute coverage',
  'largest absent weight',
  'rarest term similarity',
  'distant words',
  'close words',
  'opening',
  'first match',
  'longest run',
  'best window',
  'exact in window',
  'window cosine',
  'matched share of idf',
  'words',
  'terms',
  'mean idf',
  'question',
  'time',
  'number',
  'person',
  'place',
  'entities',
  'entities found',
  'starts with pronoun',
] as const;

type Features = Record<(typeof FEATURES)[number], number>;

/** An occurrence of a term or of a similar word; `strength` is 1 for the term itself. */
interface Hit {
  position: number;
  term: number;
  strength: number;
}

/** Counts of one pass over a document. Arrays have one number for each term. */
interface Scan {
  words: WordMatch[];
  occurrences: Float64Array;
  maxSimilarity: Float64Array;
  distantWords: Float64Array;
  closeWords: Float64Array;
  hits: Hit[];
  longestRun: number;
}

/** Computes the features of a document for a query, and counts the tokens read. */
export function computeFeatures(query: PreparedQuery, document: string): { features: Float64Array; tokens: number } {
  const scan = scanDocument(query, document);
  const features: Features = {
    ...termFeatures(query, scan),
    ...windowFeatures(query, scan),
    ...wordingFeatures(query, scan, document),
  };
  return {
    features: Float64Array.from(FEATURES, (name) => features[name]),
    tokens: scan.words.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

function scanDocument(query: PreparedQuery, document: string): Scan {
  const perTerm = () => new Float64Array(query.weights.length);
  const scan: Scan = {
    words: [],
    occurrences: perTerm(),
    maxSimilarity: perTerm(),
    distantWords: perTerm(),
    closeWords: perTerm(),
    hits: [],
    longestRun: 0,
  };
  const run = new CommonRun(query.wordStems);
  eachUnit(document, (word) => {
    const match = query.match(word);
    run.push(match.stem);
    countMatch(scan, match, scan.words.length);
    return scan.words.push(match) < MAX_WORDS;
  });
  return { ...scan, longestRun: run.longest };
}

function countMatch(scan: Scan, { term, similarities }: WordMatch, position: number): void {
  if (term !== -1) increment(scan.occurrences, term);
  if (similarities === null) return;
  for (let index = 0; index < similarities.length; index++) {
    const similarity = similarities[index] as number;
    if (similarity > (scan.maxSimilarity[index] as number)) scan.maxSimilarity[index] = similarity;
    if (similarity > CLOSE_MIN) increment(scan.closeWords, index);
    else if (similarity > DISTANT.min && similarity <= DISTANT.max) increment(scan.distantWords, index);
    if (similarity > WEAK_MATCH)
      scan.hits.push({ position, term: index, strength: (similarity - WEAK_MATCH) / (1 - WEAK_MATCH) });
  }
}

function increment(counts: Float64Array, index: number): void {
  counts[index] = (counts[index] as number) + 1;
}

/** Matches of the terms, wherever they are. Sums are weighted by IDF. */
function termFeatures({ weights, idfSum }: PreparedQuery, scan: Scan) {
  const { occurrences, maxSimilarity, words } = scan;
  const sumTerms = (value: (term: number) => number): number =>
    weights.reduce((sum, weight, term) => sum + weight * value(term), 0);
  const isAbsent = (term: number): boolean => occurrences[term] === 0;
  const lengthNorm = K1 * (1 - B + (B * words.length) / AVERAGE_WORDS);
  const coverage = sumTerms((term) => Number(!isAbsent(term)));
  const bm25 = sumTerms((term) => (occurrences[term] as number) / ((occurrences[term] as number) + lengthNorm));
  const opening = new Set(words.slice(0, OPENING_WORDS).map(({ term }) => term));
  return {
    maxsim: sumTerms((term) => maxSimilarity[term] as number),
    'maxsim of absent terms': sumTerms((term) => (isAbsent(term) ? (maxSimilarity[term] as number) : 0)),
    bm25,
    'absolute bm25': saturate(bm25 * (K1 + 1) * idfSum),
    coverage,
    'absolute coverage': saturate(coverage * idfSum),
    'largest absent weight': weights.find((_, term) => isAbsent(term)) ?? 0,
    'rarest term similarity': maxSimilarity[0] ?? 0,
    'distant words': sumTerms((term) => Math.log1p(scan.distantWords[term] as number)) / 3,
    'close words': sumTerms((term) => Math.log1p(scan.closeWords[term] as number)) / 3,
    opening: sumTerms((term) => Number(opening.has(term))),
    terms: Math.log1p(weights.length) / 4,
    'mean idf': idfSum / weights.length / 10,
  };
}

/** Maps a sum of IDF to 0 to 1. */
function saturate(idfSum: number): number {
  return idfSum / (idfSum + MEDIAN_IDF_SUM);
}

/** Largest sum of weighted match strengths in a window of `WINDOW_WORDS` words, each term once. */
function windowFeatures({ weights }: PreparedQuery, { hits, words }: Scan) {
  const strongest = new Float64Array(weights.length);
  let best = { exact: 0, sum: 0, position: 0 };
  for (const [first, { position }] of hits.entries()) {
    if (position === hits[first - 1]?.position) continue;
    strongest.fill(0);
    let [exact, sum] = [0, 0];
    for (let i = first; i < hits.length && (hits[i] as Hit).position < position + WINDOW_WORDS; i++) {
      const { term, strength } = hits[i] as Hit;
      const gain = strength - (strongest[term] as number);
      if (gain <= 0) continue;
      strongest[term] = strength;
      sum += gain * (weights[term] as number);
      if (strength === 1) exact += weights[term] as number;
    }
    if (exact + sum > best.exact + best.sum) best = { exact, sum, position };
  }
  return {
    cosine: embeddingCosine(words),
    'best window': best.sum,
    'exact in window': best.exact,
    'window cosine': embeddingCosine(words.slice(best.position, best.position + WINDOW_WORDS)),
    'first match': (hits[0]?.position ?? words.length) / (words.length + 1),
  };
}

/** Properties of the query's and the document's wording. */
function wordingFeatures(query: PreparedQuery, { words, longestRun }: Scan, document: string) {
  const { question, entities } = query;
  const lowerCase = entities.length > 0 ? document.toLowerCase() : '';
  const answer = (type: AnswerType): number => (question.type === type ? question.matchAnswer(document) : 0);
  const distinct = [...new Set(words)];
  const idf = distinct.reduce((sum, each) => sum + each.idf, 0);
  const matchedIdf = distinct.reduce((sum, each) => sum + (each.term === -1 ? 0 : each.idf), 0);
  return {
    'longest run': longestRun / Math.max(3, Math.min(query.wordStems.length, 12)),
    'matched share of idf': matchedIdf / (idf + 1),
    words: Math.log1p(words.length) / 6,
    question: Number(question.isQuestion),
    time: answer('time'),
    number: answer('number'),
    person: answer('person'),
    place: answer('place'),
    entities: Number(entities.length > 0),
    'entities found': entities.filter((entity) => lowerCase.includes(entity)).length / (entities.length || 1),
    'starts with pronoun': Number(STARTS_WITH_PRONOUN.test(document.slice(0, MAX_PRONOUN_CHARACTERS))),
  };
}

/** Cosine of the query's embedding and that of words, in which a word counts by the square root of its frequency. */
function embeddingCosine(words: readonly WordMatch[]): number {
  const counts = new Map<WordMatch, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  let product = 0;
  let sum: Float32Array | null = null;
  for (const [{ queryProduct, sample }, count] of counts) {
    product += Math.sqrt(count) * queryProduct;
    sum ??= new Float32Array(sample.length);
    addScaled(sum, sample, Math.sqrt(count));
  }
  const norm = sum === null ? 0 : Math.sqrt(NORM_STRIDE * dotProduct(sum, sum));
  return norm === 0 ? 0 : Math.max(-1, Math.min(1, product / norm));
}

/** The longest contiguous run of words that a document shares with the query, fed word by word. */
class CommonRun {
  longest = 0;
  readonly #query: readonly string[];
  /** Length of the run that ends with the last word and the query's word before the index. */
  readonly #lengths: Uint16Array;

  constructor(query: readonly string[]) {
    this.#query = query;
    this.#lengths = new Uint16Array(query.length + 1);
  }

  push(stem: string): void {
    for (let i = this.#query.length - 1; i >= 0; i--) {
      const length = this.#query[i] === stem ? (this.#lengths[i] as number) + 1 : 0;
      this.#lengths[i + 1] = length;
      if (length > this.longest) this.longest = length;
    }
  }
}
