import type { EmbeddedText, EmbeddingPortion } from '@quire/bundled-models';
import type { PortionedCall } from './shared-thread.ts';

/** Texts of all queued calls: their vectors take 256 MB. A single call may have more. */
const MAX_QUEUED_TEXTS = 65_536;
/** Cost of a vector besides its text, in characters: summing and transfer. */
const VECTOR_CHARACTERS = 128;

/** Texts to embed or count. */
export interface EmbeddingTask {
  texts: readonly string[];
  /** Maximum tokens of a text. */
  limit: number;
  /** False when only the token counts are needed. */
  withVectors: boolean;
  /** Only the similarity of each text's best passage to this query is needed. */
  query?: string;
  /** Creates the error for the text at an index that is over the limit. */
  createLimitError(index: number): Error;
}

/** The result of a task, in the order of its texts. */
export interface EmbeddingOutcome {
  tokens: number[];
  vectors: Float32Array[];
  similarities: number[];
}

/** A task whose texts are the portions. */
export class EmbeddingCall implements PortionedCall<EmbeddingPortion, EmbeddedText, EmbeddingOutcome> {
  characters: number;
  readonly #task: EmbeddingTask;
  readonly #outcome: EmbeddingOutcome = { tokens: [], vectors: [], similarities: [] };
  #next = 0;

  constructor(task: EmbeddingTask) {
    this.#task = task;
    this.characters = task.texts.reduce((sum, text) => sum + text.length, 0);
  }

  get share(): number {
    return (this.#task.texts.length - this.#next) / MAX_QUEUED_TEXTS;
  }

  get nextCost(): number | null {
    const text = this.#task.texts[this.#next];
    return text === undefined ? null : text.length + VECTOR_CHARACTERS;
  }

  portion(): EmbeddingPortion {
    const text = this.#task.texts[this.#next++] ?? '';
    this.characters -= text.length;
    const { limit, withVectors, query } = this.#task;
    return { text, limit, withVector: withVectors, ...(query !== undefined && { query }) };
  }

  take({ vector, tokens, similarity }: EmbeddedText): EmbeddingOutcome | null {
    if (tokens > this.#task.limit) throw this.#task.createLimitError(this.#outcome.tokens.length);
    this.#outcome.tokens.push(tokens);
    if (vector !== null) this.#outcome.vectors.push(vector);
    if (similarity !== undefined) this.#outcome.similarities.push(similarity);
    return this.#outcome.tokens.length === this.#task.texts.length ? this.#outcome : null;
  }
}
