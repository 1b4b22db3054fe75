import { windowAt } from '../text-windows.ts';
import type { RerankPortion, RerankPortionResult } from './worker.ts';

/** Windows of a long document: some milliseconds of work, 0.1 s when all words differ. They share a few sentences. */
const WINDOW = { characters: 8_192, overlap: 512 };
/** Cost of a document besides its text, in characters. */
const DOCUMENT_CHARACTERS = 64;
/** Characters of the query that the model is sent with every portion: more than the words that it reads. */
const MAX_QUERY_CHARACTERS = 16_384;

/** A rerank request that is processed in portions of windows. The score of a document is that of its best window. */
export class RerankCall {
  characters: number;
  readonly #query: string;
  readonly #documents: readonly string[];
  /** Position of the next window: index of the document, and offset in it. */
  #next = 0;
  #offset = 0;
  /** Index of the document of each window in the current portion. */
  #documentOfWindow: number[] = [];
  readonly #scores: number[] = [];
  #tokens = 0;

  constructor({ query, documents }: Readonly<{ query: string; documents: readonly string[] }>) {
    this.#query = query.slice(0, MAX_QUERY_CHARACTERS);
    this.#documents = documents;
    this.characters = documents.reduce((sum, document) => sum + document.length, query.length);
  }

  portion(): RerankPortion {
    const windows: string[] = [];
    this.#documentOfWindow = [];
    for (let characters = 0; this.#next < this.#documents.length; ) {
      const { text, next } = windowAt(this.#documents[this.#next] ?? '', this.#offset, WINDOW);
      characters += text.length + DOCUMENT_CHARACTERS;
      if (windows.length > 0 && characters > WINDOW.characters) break;
      this.characters -= next === null ? text.length : next - this.#offset;
      windows.push(text);
      this.#documentOfWindow.push(this.#next);
      this.#offset = next ?? 0;
      if (next === null) this.#next++;
    }
    return { query: this.#query, documents: windows };
  }

  take({ scored, queryTokens }: RerankPortionResult): { scores: number[]; tokens: number } | null {
    for (const [i, document] of this.#documentOfWindow.entries()) {
      const { score = 0, tokens = 0 } = scored[i] ?? {};
      this.#scores[document] = Math.max(this.#scores[document] ?? 0, score);
      this.#tokens += tokens;
    }
    if (this.#next < this.#documents.length) return null;
    return { scores: this.#scores, tokens: this.#tokens + queryTokens };
  }
}
