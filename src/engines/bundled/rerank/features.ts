import { addScaled, dotProduct, eachUnit, NORM_STRIDE, type PreparedQuery, type WordMatch } from './query.ts';

/** Words of a document that are read. */
const MAX_WORDS = 65_536;
/** Words of a passage window. */
const WINDOW_WORDS = 24;
/** Words at the beginning of a document that usually state its topic. */
const OPENING_WORDS = 16;
/** Words at least this similar to a term are weak matches of it. */
const WEAK_MATCH = 0.45;
/** BM25 parameters. The average length is that of a passage. */
const K1 = 1.2;
const B = 0.75;
const AVERAGE_WORDS = 130;

/** The inputs of the scoring network, in order. Sums over terms are weighted by IDF. */
export const FEATURES = [
  /** Similarity of the most similar document word to each term (late interaction). */
  'maxsim',
  /** The same, only for terms that do not occur. */
  'maxsim of absent terms',
  /** Cosine similarity of the embeddings. */
  'cosine',
  'bm25',
  /** Terms matched in the best window of the document. */
  'best window',
  /** -1 to 1, see `answerTypeTest`. */
  'answer type',
  /** Position of the first match, as a share of the document. */
  'first match',
  /** Terms that occur among the first words. */
  'opening',
  /** Longest run of common words, relative to the length of the query. */
  'longest run',
  /** log(1 + terms) / 4 */
  'terms',
] as const;

/** An occurrence of a term or of a similar word; `strength` is 1 for the term itself. */
interface Hit {
  position: number;
  term: number;
  strength: number;
}

/** Computes the features of a document for a query, and counts the tokens read. */
export function computeFeatures(query: PreparedQuery, document: string): { features: Float64Array; tokens: number } {
  const { weights } = query;
  const occurrences = new Float64Array(weights.length);
  const inOpening = new Float64Array(weights.length);
  const maxSimilarity = new Float64Array(weights.length);
  const hits: Hit[] = [];
  const counts = new Map<WordMatch, number>();
  const run = new CommonRun(query.wordStems);
  let words = 0;
  let tokens = 0;
  eachUnit(document, (word) => {
    const match = query.match(word);
    counts.set(match, (counts.get(match) ?? 0) + 1);
    tokens += match.tokens;
    run.push(match.stem);
    if (match.term !== -1) {
      occurrences[match.term] = (occurrences[match.term] as number) + 1;
      if (words < OPENING_WORDS) inOpening[match.term] = 1;
    }
    const { similarities } = match;
    for (let term = 0; similarities !== null && term < similarities.length; term++) {
      const similarity = similarities[term] as number;
      if (similarity > (maxSimilarity[term] as number)) maxSimilarity[term] = similarity;
      if (similarity > WEAK_MATCH)
        hits.push({ position: words, term, strength: (similarity - WEAK_MATCH) / (1 - WEAK_MATCH) });
    }
    return ++words < MAX_WORDS;
  });
  const sumTerms = (value: (term: number) => number): number =>
    weights.reduce((sum, weight, term) => sum + weight * value(term), 0);
  const lengthNorm = K1 * (1 - B + (B * words) / AVERAGE_WORDS);
  const features = [
    sumTerms((term) => maxSimilarity[term] as number),
    sumTerms((term) => (occurrences[term] === 0 ? (maxSimilarity[term] as number) : 0)),
    embeddingCosine(counts),
    sumTerms((term) => (occurrences[term] as number) / ((occurrences[term] as number) + lengthNorm)),
    bestWindow(hits, weights),
    query.answerType(document),
    (hits[0]?.position ?? words) / (words + 1),
    sumTerms((term) => inOpening[term] as number),
    run.longest / Math.max(3, Math.min(query.wordStems.length, 12)),
    Math.log1p(weights.length) / 4,
  ];
  return { features: Float64Array.from(features), tokens };
}

/** Cosine of the query's embedding and the document's, in which a word counts by the square root of its frequency. */
function embeddingCosine(counts: ReadonlyMap<WordMatch, number>): number {
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

/** The largest weighted sum of match strengths, each term once, within `WINDOW_WORDS` words. */
function bestWindow(hits: readonly Hit[], weights: Float64Array): number {
  const strongest = new Float64Array(weights.length);
  let best = 0;
  for (const [first, { position }] of hits.entries()) {
    if (position === hits[first - 1]?.position) continue;
    strongest.fill(0);
    let sum = 0;
    for (let i = first; i < hits.length && (hits[i] as Hit).position < position + WINDOW_WORDS; i++) {
      const { term, strength } = hits[i] as Hit;
      const gain = Math.max(0, strength - (strongest[term] as number));
      strongest[term] = (strongest[term] as number) + gain;
      sum += gain * (weights[term] as number);
    }
    best = Math.max(best, sum);
  }
  return best;
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
