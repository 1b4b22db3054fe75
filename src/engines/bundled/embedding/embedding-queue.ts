import { EMBEDDING_DIMENSIONS } from '../../embedding-engine.ts';
import type { Portion, PortionResult } from './thread.ts';

/** Characters of one step: some milliseconds of work, after which whoever came in the meantime has a turn. */
const STEP_CHARACTERS = 32_768;
/** What a vector costs beside its text, in characters: adding up and handing over. */
const VECTOR_CHARACTERS = 128;

/** What a call asks of each of its texts. */
export interface Wanted {
  texts: readonly string[];
  /** Tokens of a text that are allowed. */
  limit: number;
  /** Whether the vectors are wanted, or the counts alone. */
  vectors: boolean;
  /** The organization. */
  scope: string;
}

/** What came of a call, in the order of its texts. */
export interface Outcome {
  tokens: number[];
  vectors: Float32Array[];
}

/** One call on its way: its texts are handed out as there is room in a step. */
export class QueuedCall {
  readonly promise: Promise<Outcome>;
  /** Characters that have not been handed out yet. */
  characters: number;
  readonly #wanted: Wanted;
  readonly #tooLong: (index: number) => Error;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #outcome: Outcome = { tokens: [], vectors: [] };
  #next = 0;

  /** `tooLong` is the error of a call whose text at an index has too many tokens. */
  constructor(wanted: Wanted, tooLong: (index: number) => Error) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#wanted = wanted;
    this.#tooLong = tooLong;
    this.characters = wanted.texts.reduce((sum, text) => sum + text.length, 0);
  }

  /** Texts that have not been handed out yet. */
  get left(): number {
    return this.#wanted.texts.length - this.#next;
  }

  /** What the next text costs. */
  get nextCost(): number {
    return (this.#wanted.texts[this.#next]?.length ?? 0) + VECTOR_CHARACTERS;
  }

  /** An empty portion of this call. */
  portion(): Portion {
    return { texts: [], limit: this.#wanted.limit, vectors: this.#wanted.vectors };
  }

  /** The next text, which is handed out with this. */
  handOut(): string {
    const text = this.#wanted.texts[this.#next++] ?? '';
    this.characters -= text.length;
    return text;
  }

  /** Takes what came of the texts that are out. Returns whether the call has come to its end. */
  take({ tokens, vectors }: PortionResult): boolean {
    for (const [i, count] of tokens.entries()) {
      if (count > this.#wanted.limit) {
        this.fail(this.#tooLong(this.#outcome.tokens.length));
        return true;
      }
      this.#outcome.tokens.push(count);
      if (!this.#wanted.vectors) continue;
      this.#outcome.vectors.push(vectors.subarray(i * EMBEDDING_DIMENSIONS, (i + 1) * EMBEDDING_DIMENSIONS));
    }
    if (this.left > 0) return false;
    this.#resolve(this.#outcome);
    return true;
  }

  fail(reason: unknown): void {
    this.#reject(reason);
  }
}

/** What the thread gets in one step: portions of several calls. */
export interface Step {
  calls: QueuedCall[];
  portions: Portion[];
}

/** Who waits, in the order in which they get their turns. Not bounded itself: callers pass an admission first. */
export class EmbeddingQueue {
  readonly #waiting = new Set<QueuedCall>();

  add(call: QueuedCall): void {
    this.#waiting.add(call);
  }

  /** Nobody waits for it any more: what it has not handed out costs nothing. */
  remove(call: QueuedCall): void {
    this.#waiting.delete(call);
  }

  /**
   * The next step; null when nothing waits. The calls give a text each in turn, so that a short call does not wait for the
   * end of a long one; those that were in a step and have more come after the others.
   */
  step(): Step | null {
    const portions = new Map<QueuedCall, Portion>();
    let characters = 0;
    for (const call of this.#waiting) {
      if (portions.size > 0 && characters + call.nextCost > STEP_CHARACTERS) break;
      characters += call.nextCost;
      const portion = portions.get(call) ?? call.portion();
      portion.texts.push(call.handOut());
      portions.set(call, portion);
      // A set goes on with what is added while it is walked through: this is the end of the line.
      this.#waiting.delete(call);
      if (call.left > 0) this.#waiting.add(call);
    }
    return portions.size === 0 ? null : { calls: [...portions.keys()], portions: [...portions.values()] };
  }

  /** All that wait, who are taken out. */
  clear(): QueuedCall[] {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    return calls;
  }
}
