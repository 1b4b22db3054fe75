import type { RerankEngineRequest, Reranking } from '../../rerank-engine.ts';
import type { PortionedCall } from '../shared-thread.ts';
import type { RerankPortion, RerankPortionResult } from './worker.ts';

/** Characters of one portion: some milliseconds of work. A longer document is a portion of its own. */
const PORTION_CHARACTERS = 32_768;
/** Cost of a document besides its text, in characters. */
const DOCUMENT_CHARACTERS = 64;

/** A rerank request that is processed in portions. */
export class RerankCall implements PortionedCall<RerankPortion, RerankPortionResult, Reranking> {
  characters: number;
  readonly #query: string;
  readonly #documents: readonly string[];
  #next = 0;
  readonly #scores: number[] = [];
  #tokens = 0;

  constructor({ query, documents }: RerankEngineRequest) {
    this.#query = query;
    this.#documents = documents;
    this.characters = documents.reduce((sum, document) => sum + document.length, query.length);
  }

  portion(): RerankPortion {
    const documents: string[] = [];
    for (let characters = 0; this.#next < this.#documents.length; this.#next++) {
      const document = this.#documents[this.#next] ?? '';
      characters += document.length + DOCUMENT_CHARACTERS;
      if (documents.length > 0 && characters > PORTION_CHARACTERS) break;
      documents.push(document);
      this.characters -= document.length;
    }
    return { query: this.#query, documents };
  }

  take({ scored, queryTokens }: RerankPortionResult): Reranking | null {
    for (const { score, tokens } of scored) {
      this.#scores.push(score);
      this.#tokens += tokens;
    }
    if (this.#next < this.#documents.length) return null;
    return { scores: this.#scores, tokens: this.#tokens + queryTokens };
  }
}
