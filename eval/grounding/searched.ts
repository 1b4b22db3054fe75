import {
  DEFAULT_HYBRID_WEIGHT,
  type EmbeddingEngine,
  type EmbeddingPurpose,
} from '../../src/engines/embedding-engine.ts';
import { MATCHED_LANGUAGE, MAX_MATCHED } from '../../src/knowledge-bases/retrieval/retrieve.ts';
import { keywordScore, passageScore, scoreHit, vectorScore } from '../../src/knowledge-bases/retrieval/score.ts';
import type { Language } from '../../src/search/languages.ts';
import { tokenizeText } from '../../src/search/terms.ts';

const K1 = 1.2;
const B = 0.75;

/** An in-memory index with the scoring of knowledge bases: BM25, vectors and hybrid. */
export class Searched {
  readonly texts: readonly string[];
  readonly #embedder: EmbeddingEngine;
  readonly #language: Language;
  readonly #vectors: readonly Float32Array[];
  /** Posting lists: for each term, its texts and BM25 contributions. */
  readonly #gains = new Map<string, [place: number, gain: number][]>();

  private constructor(
    embedder: EmbeddingEngine,
    texts: readonly string[],
    language: Language,
    vectors: Float32Array[],
  ) {
    this.#embedder = embedder;
    this.texts = texts;
    this.#language = language;
    this.#vectors = vectors;
    const lengths = texts.map((text, place) => this.#count(text, place));
    const usual = lengths.reduce((sum, length) => sum + length, 0) / texts.length;
    for (const found of this.#gains.values()) {
      const idf = Math.log(1 + (texts.length - found.length + 0.5) / (found.length + 0.5));
      for (const entry of found) {
        const norm = K1 * (1 - B + (B * (lengths[entry[0]] ?? 0)) / usual);
        entry[1] = (idf * entry[1] * (K1 + 1)) / (entry[1] + norm);
      }
    }
  }

  static async of(embedder: EmbeddingEngine, texts: readonly string[], language: Language): Promise<Searched> {
    return new Searched(embedder, texts, language, await embedded(embedder, texts, 'document'));
  }

  /** Adds a text to the posting lists. Returns its length in terms. */
  #count(text: string, place: number): number {
    const terms = tokenizeText(text, this.#language);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, times] of counts) {
      const found = this.#gains.get(term);
      if (found === undefined) this.#gains.set(term, [[place, times]]);
      else found.push([place, times]);
    }
    return terms.length;
  }

  /** BM25 scores of all texts. */
  keyword(query: string): number[] {
    const scores = this.texts.map(() => 0);
    for (const term of tokenizeText(query, this.#language)) {
      for (const [place, gain] of this.#gains.get(term) ?? []) scores[place] = (scores[place] ?? 0) + gain;
    }
    return scores;
  }

  /** The best texts by the search of chats: in English, the first hits of hybrid search by their best passages. */
  async byPassages(query: string, count: number): Promise<{ at: number; score: number }[]> {
    const [scores = []] = await this.hybrid([query]);
    const [vector = new Float32Array()] = await embedded(this.#embedder, [query], 'query');
    if (this.#language !== MATCHED_LANGUAGE) {
      return bestOf(scores, count).map((at) => ({ at, score: scores[at] ?? 0 }));
    }
    const best = bestOf(scores, Math.max(count, MAX_MATCHED));
    const texts = best.map((at) => this.texts[at] ?? '');
    const similarities = (await this.#embedder.matchPassages?.(query, texts, new AbortController().signal)) ?? [];
    const words = this.keyword(query);
    const ranked = best.map((at, i) => {
      const cosine = vector.reduce((sum, value, j) => sum + value * (this.#vectors[at]?.[j] ?? 0), 0);
      const component = { vector: vectorScore(cosine), keyword: keywordScore(words[at] ?? 0) };
      return { at, rank: passageScore(component, similarities[i] ?? 0) };
    });
    ranked.sort((a, b) => b.rank - a.rank);
    return ranked.slice(0, count).map(({ at }, i) => ({ at, score: scores[best[i] ?? 0] ?? 0 }));
  }

  /** Hybrid scores of all texts, per query. */
  async hybrid(queries: readonly string[]): Promise<number[][]> {
    const vectors = await embedded(this.#embedder, queries, 'query');
    return queries.map((query, at) => {
      const words = this.keyword(query);
      const asked = vectors[at] ?? new Float32Array();
      return this.#vectors.map((vector, place) => {
        const cosine = asked.reduce((sum, value, i) => sum + value * (vector[i] ?? 0), 0);
        return scoreHit(
          { cosine, bm25: words[place] ?? 0 },
          'hybrid',
          this.#embedder.hybridWeight ?? DEFAULT_HYBRID_WEIGHT,
        );
      });
    });
  }
}

/** Indexes by descending score. */
export function bestOf(scores: readonly number[], most: number): number[] {
  return [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, most);
}

async function embedded(
  embedder: EmbeddingEngine,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
): Promise<Float32Array[]> {
  const request = { texts, purpose, maxTokensPerText: null, nameParam: () => 'input' };
  return (await embedder.embed(request, new AbortController().signal)).vectors;
}
