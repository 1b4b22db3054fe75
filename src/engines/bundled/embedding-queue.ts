import type { EmbeddingPortion, EmbeddingPortionResult } from '@quire/bundled-models';
import { FairQueue } from '../../lib/fair-queue.ts';
import { EMBEDDING_DIMENSIONS } from '../embedding-engine.ts';

/** Characters of one step: some milliseconds of work. New calls enter the next step. */
const STEP_CHARACTERS = 32_768;
/** Cost of a vector besides its text, in characters: summing and transfer. */
const VECTOR_CHARACTERS = 128;

/** Texts to embed or count. */
export interface EmbeddingTask {
  texts: readonly string[];
  /** Maximum tokens of a text. */
  limit: number;
  /** False when only the token counts are needed. */
  withVectors: boolean;
  /** The organization, for fairness. */
  scope: string;
}

/** The result of a task, in the order of its texts. */
export interface EmbeddingOutcome {
  tokens: number[];
  vectors: Float32Array[];
  /** Time in the queue, in milliseconds. */
  queueMs: number;
}

/** A queued task, whose texts are taken as there is room in a step. */
export class QueuedEmbedding {
  readonly promise: Promise<EmbeddingOutcome>;
  /** Characters of the texts that are still to come. */
  characters: number;
  readonly #task: EmbeddingTask;
  readonly #createLimitError: (index: number) => Error;
  readonly #resolve: (outcome: EmbeddingOutcome) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #outcome: EmbeddingOutcome = { tokens: [], vectors: [], queueMs: 0 };
  readonly #queuedAt = performance.now();
  #next = 0;

  /** `createLimitError` creates the error for the text at an index that is over the limit. */
  constructor(task: EmbeddingTask, createLimitError: (index: number) => Error) {
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingOutcome>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#task = task;
    this.#createLimitError = createLimitError;
    this.characters = task.texts.reduce((sum, text) => sum + text.length, 0);
  }

  /** The organization. */
  get scope(): string {
    return this.#task.scope;
  }

  /** Texts that are still to come. */
  get remainingTexts(): number {
    return this.#task.texts.length - this.#next;
  }

  /** Cost of the next text, in characters. */
  get nextCost(): number {
    return (this.#task.texts[this.#next]?.length ?? 0) + VECTOR_CHARACTERS;
  }

  /** An empty portion of this task. */
  createPortion(): EmbeddingPortion {
    return { texts: [], limit: this.#task.limit, withVectors: this.#task.withVectors };
  }

  /** Removes and returns the next text. */
  takeText(): string {
    if (this.#next === 0) this.#outcome.queueMs = performance.now() - this.#queuedAt;
    const text = this.#task.texts[this.#next++] ?? '';
    this.characters -= text.length;
    return text;
  }

  /** Adds the result of the current portion. Returns whether the task is complete. */
  addResult({ tokens, vectors }: EmbeddingPortionResult): boolean {
    for (const [i, count] of tokens.entries()) {
      if (count > this.#task.limit) {
        this.fail(this.#createLimitError(this.#outcome.tokens.length));
        return true;
      }
      this.#outcome.tokens.push(count);
      if (!this.#task.withVectors) continue;
      this.#outcome.vectors.push(vectors.subarray(i * EMBEDDING_DIMENSIONS, (i + 1) * EMBEDDING_DIMENSIONS));
    }
    if (this.remainingTexts > 0) return false;
    this.#resolve(this.#outcome);
    return true;
  }

  fail(reason: unknown): void {
    this.#reject(reason);
  }
}

/** Portions of several tasks that the worker processes together. */
export interface EmbeddingStep {
  calls: QueuedEmbedding[];
  portions: EmbeddingPortion[];
}

/** Queue of tasks, whose organizations take turns. Unbounded: callers pass admission first. */
export class EmbeddingQueue {
  readonly #tasks = new FairQueue<QueuedEmbedding>();

  add(call: QueuedEmbedding): void {
    this.#tasks.add(call.scope, call);
  }

  /** Removes a task whose caller has left. */
  remove(call: QueuedEmbedding): void {
    this.#tasks.delete(call.scope, call);
  }

  /**
   * Takes the next step; null when the queue is empty. Organizations contribute one text in turn, and so do the tasks of each, so that
   * short tasks do not wait for long ones.
   */
  takeStep(): EmbeddingStep | null {
    const portions = new Map<QueuedEmbedding, EmbeddingPortion>();
    let characters = 0;
    for (let call = this.#tasks.peek(); call !== undefined; call = this.#tasks.peek()) {
      if (portions.size > 0 && characters + call.nextCost > STEP_CHARACTERS) break;
      characters += call.nextCost;
      const portion = portions.get(call) ?? call.createPortion();
      portion.texts.push(call.takeText());
      portions.set(call, portion);
      this.#tasks.take();
      if (call.remainingTexts > 0) this.#tasks.add(call.scope, call);
    }
    return portions.size === 0 ? null : { calls: [...portions.keys()], portions: [...portions.values()] };
  }

  /** Removes and returns all tasks. */
  clear(): QueuedEmbedding[] {
    return this.#tasks.clear();
  }
}
