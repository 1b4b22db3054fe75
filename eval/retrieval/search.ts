import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { Bm25 } from '../keyword/bm25.ts';
import type { Collection } from './collections.ts';
import { dot, embedTexts, type Vectors } from './embedding-client.ts';

/**
 * The fusion that was chosen for the embedder: `SHARE * max(0, cosine) + (1 - SHARE) * s / (s + HALF)`, s the BM25
 * score.
 */
const SHARE = 0.2;
const HALF = 30;

/** Scores of all documents for one query. */
export interface SearchScores {
  keyword: Float32Array;
  vector: Float32Array;
  hybrid: Float32Array;
}

/** An embedded collection with a BM25 index. */
export class Search {
  readonly collection: Collection;
  readonly #index: Bm25;
  readonly #documents: Vectors;
  readonly #queries: Vectors;

  private constructor(collection: Collection, documents: Vectors, queries: Vectors) {
    this.collection = collection;
    this.#index = new Bm25(collection.documents);
    this.#documents = documents;
    this.#queries = queries;
  }

  /** Embeds a collection through the service. */
  static async of(service: ServiceClient, collection: Collection): Promise<Search> {
    const documents = await embedTexts(service, collection.documents, `${collection.name}, documents`);
    return new Search(
      collection,
      documents,
      await embedTexts(service, collection.queries, `${collection.name}, queries`),
    );
  }

  /** Scores all documents for a query index. */
  scores(query: number): SearchScores {
    const asked = this.#queries[query] ?? new Float32Array();
    const keyword = this.#index.scores(this.collection.queries[query] ?? '');
    const vector = Float32Array.from(this.#documents, (document) => dot(asked, document));
    return { keyword, vector, hybrid: vector.map((cosine, place) => fused(cosine, keyword[place] ?? 0)) };
  }
}

/** The hybrid score of a document, 0..1, from its cosine and its BM25 score. */
export function fused(cosine: number, score: number): number {
  return SHARE * Math.max(0, cosine) + (1 - SHARE) * (score / (score + HALF));
}
