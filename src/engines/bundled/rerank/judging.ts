import type { RerankEngineRequest, Reranking } from '../../rerank-engine.ts';
import type { PortionedCall } from '../shared-thread.ts';
import type { Portion, PortionResult } from './thread.ts';

/** Characters of one step: some milliseconds of work, after which another call has its turn. A longer document is one step. */
const STEP_CHARACTERS = 32_768;
/** What a document costs beside its text, in characters. */
const DOCUMENT_CHARACTERS = 64;

/** One call on its way through the thread. */
export class Judging implements PortionedCall<Portion, PortionResult, Reranking> {
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

  /** The next documents, as many as make a step, one at least. */
  portion(): Portion {
    const documents: string[] = [];
    for (let characters = 0; this.#next < this.#documents.length; this.#next++) {
      const document = this.#documents[this.#next] ?? '';
      characters += document.length + DOCUMENT_CHARACTERS;
      if (documents.length > 0 && characters > STEP_CHARACTERS) break;
      documents.push(document);
      this.characters -= document.length;
    }
    return { query: this.#query, documents };
  }

  take({ judged, queryTokens }: PortionResult): Reranking | null {
    for (const { score, tokens } of judged) {
      this.#scores.push(score);
      this.#tokens += tokens;
    }
    if (this.#next < this.#documents.length) return null;
    return { scores: this.#scores, tokens: this.#tokens + queryTokens };
  }
}
