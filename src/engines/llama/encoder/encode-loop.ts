import type { LlamaContext } from 'node-llama-cpp';
import { computePooled, setThreads } from '../runtime/bindings.ts';

/** Multiplications that justify a thread (some ten milliseconds): threads synchronize many times per window. */
const MULTIPLICATIONS_PER_THREAD = 2 ** 28;

/** Resources of an encode loop. */
export interface EncodeLoopOptions {
  contexts: readonly LlamaContext[];
  /** Threads of all contexts together. */
  threads: number;
  /** Parameters of the model: about the number of multiplications per token. */
  parameters: number;
}

/** The windows of one request. */
export interface EncodeTask {
  /** Returns the next window; null when all were returned. */
  next(): Window | null;
  /** A window failed: the task ends. */
  fail(error: unknown): void;
}

/** Tokens that are computed in one pass. */
export interface Window {
  tokens: readonly number[];
  read(numbers: Float64Array): void;
}

/**
 * Schedules windows on contexts, round robin over the tasks, so that a short text waits for one window of a long one.
 * The threads are shared by the windows being computed: a single one gets all of them.
 */
export class EncodeLoop {
  readonly #free: LlamaContext[];
  readonly #lanes: EncodeLoopOptions;
  /** In round-robin order. */
  readonly #waiting = new Set<EncodeTask>();

  constructor(lanes: EncodeLoopOptions) {
    this.#free = [...lanes.contexts];
    this.#lanes = lanes;
  }

  add(task: EncodeTask): void {
    this.#waiting.add(task);
    this.#fill();
  }

  /** No further window is started; running ones are still delivered. */
  remove(task: EncodeTask): void {
    this.#waiting.delete(task);
  }

  #fill(): void {
    for (const task of this.#waiting) {
      if (this.#free.length === 0) return;
      this.#waiting.delete(task);
      const window = task.next();
      if (window === null) continue;
      const context = this.#free.pop();
      if (context === undefined) return;
      // To the end of the queue: a set iterates in insertion order.
      this.#waiting.add(task);
      void this.#read(context, task, window);
    }
  }

  async #read(context: LlamaContext, task: EncodeTask, window: Window): Promise<void> {
    try {
      setThreads(context, this.#threadsFor(window));
      window.read(await computePooled(context, window.tokens));
    } catch (error) {
      this.#waiting.delete(task);
      task.fail(error);
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
