import type { LlamaContext } from 'node-llama-cpp';
import { computePooled, setThreads } from '../runtime/bindings.ts';

/**
 * Multiplications that are worth a thread, some ten milliseconds of one: threads wait for each other many times in a
 * window, on a busy machine for long.
 */
const MULTIPLICATIONS_PER_THREAD = 2 ** 28;

/** What the windows are read with. */
export interface EncodeLoopOptions {
  contexts: readonly LlamaContext[];
  /** Threads of all contexts together. */
  threads: number;
  /** Parameters of the model: about as many multiplications as a token takes. */
  parameters: number;
}

/** Windows of one caller that are to be read. */
export interface EncodeTask {
  /** The next window's tokens, with what hears the numbers that they gave; null when all have been handed out. */
  next(): Window | null;
  /** A window could not be read: the reading is over. */
  fail(error: unknown): void;
}

/** Tokens to read at once. */
export interface Window {
  tokens: readonly number[];
  read(numbers: Float64Array): void;
}

/**
 * Shares the contexts among the readings: whichever context is free takes the next window of the reading whose turn it is,
 * so that a short text waits for one window of a long one and not for all. The threads are shared among the windows that
 * are being read: a long one alone has them all.
 */
export class EncodeLoop {
  readonly #free: LlamaContext[];
  readonly #lanes: EncodeLoopOptions;
  /** In the order of their turns. */
  readonly #waiting = new Set<EncodeTask>();

  constructor(lanes: EncodeLoopOptions) {
    this.#free = [...lanes.contexts];
    this.#lanes = lanes;
  }

  add(reading: EncodeTask): void {
    this.#waiting.add(reading);
    this.#fill();
  }

  /** No more of its windows are begun; those that are being read are heard to their end. */
  remove(reading: EncodeTask): void {
    this.#waiting.delete(reading);
  }

  #fill(): void {
    for (const reading of this.#waiting) {
      if (this.#free.length === 0) return;
      this.#waiting.delete(reading);
      const window = reading.next();
      if (window === null) continue;
      const context = this.#free.pop();
      if (context === undefined) return;
      // Behind the others: a set is in the order of insertion, and this loop comes by again.
      this.#waiting.add(reading);
      void this.#read(context, reading, window);
    }
  }

  async #read(context: LlamaContext, reading: EncodeTask, window: Window): Promise<void> {
    try {
      setThreads(context, this.#threadsFor(window));
      window.read(await computePooled(context, window.tokens));
    } catch (error) {
      this.#waiting.delete(reading);
      reading.fail(error);
    }
    this.#free.push(context);
    this.#fill();
  }

  #threadsFor({ tokens }: Window): number {
    const { contexts, threads, parameters } = this.#lanes;
    const share = Math.floor(threads / (contexts.length - this.#free.length));
    return Math.max(1, Math.min(share, Math.floor((tokens.length * parameters) / MULTIPLICATIONS_PER_THREAD)));
  }
}
