import { terms } from './terms.ts';

const K1 = 1.2;
const B = 0.75;

interface Postings {
  /** Indexes of the documents that contain the term. */
  places: number[];
  /** Term frequency per document, replaced by its contribution to the score. */
  gains: number[];
}

/** BM25 baseline over a collection, as LanceDB's English index computes it (k1 1.2, b 0.75, Lucene's IDF). */
export class Bm25 {
  readonly #size: number;
  readonly #postings = new Map<string, Postings>();

  constructor(texts: readonly string[]) {
    this.#size = texts.length;
    const lengths = texts.map((text, place) => this.#count(text, place));
    const usual = lengths.reduce((sum, length) => sum + length, 0) / texts.length;
    for (const { places, gains } of this.#postings.values()) {
      const idf = Math.log(1 + (texts.length - places.length + 0.5) / (places.length + 0.5));
      for (const [at, place] of places.entries()) {
        const times = gains[at] ?? 0;
        const norm = K1 * (1 - B + (B * (lengths[place] ?? 0)) / usual);
        gains[at] = (idf * times * (K1 + 1)) / (times + norm);
      }
    }
  }

  /** Scores all texts; 0 without a common term. Repeated query terms count repeatedly. */
  scores(query: string): Float32Array {
    const scores = new Float32Array(this.#size);
    for (const [term, times] of counted(terms(query))) {
      const postings = this.#postings.get(term);
      if (postings === undefined) continue;
      for (const [at, place] of postings.places.entries()) {
        scores[place] = (scores[place] ?? 0) + times * (postings.gains[at] ?? 0);
      }
    }
    return scores;
  }

  /** Indexes a text; returns its length in terms. */
  #count(text: string, place: number): number {
    const found = terms(text);
    for (const [term, times] of counted(found)) {
      let postings = this.#postings.get(term);
      if (postings === undefined) {
        postings = { places: [], gains: [] };
        this.#postings.set(term, postings);
      }
      postings.places.push(place);
      postings.gains.push(times);
    }
    return found.length;
  }
}

function counted(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
