import type { LlamaContext } from 'node-llama-cpp';
import { FairQueue } from '../../../lib/fair-queue.ts';
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
  /** The organization. */
  readonly scope: string;
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
 * Schedules windows on contexts. Organizations take turns, and so do the tasks of each, so that a short text waits for
 * one window of each other organization.
 * The threads are shared by the windows being computed: a single one gets all of them.
 */
export class EncodeLoop {
  readonly #free: LlamaContext[];
  readonly #lanes: EncodeLoopOptions;
  readonly #waiting = new FairQueue<EncodeTask>();

  constructor(lanes: EncodeLoopOptions) {
    this.#free = [...lanes.contexts];
    this.#lanes = lanes;
  }

  add(task: EncodeTask): void {
    this.#waiting.add(task.scope, task);
    this.#fill();
  }

  /** No further window is started; running ones are still delivered. */
  remove(task: EncodeTask): void {
    this.#waiting.delete(task.scope, task);
  }

  #fill(): void {
    while (this.#free.length > 0) {
      const task = this.#waiting.take();
      if (task === undefined) return;
      const window = task.next();
      if (window === null) continue;
      const context = this.#free.pop();
      if (context === undefined) return;
      this.#waiting.add(task.scope, task);
      void this.#read(context, task, window);
    }
  }

  async #read(context: LlamaContext, task: EncodeTask, window: Window): Promise<void> {
    try {
      setThreads(context, this.#threadsFor(window));
      window.read(await computePooled(context, window.tokens));
    } catch (error) {
      this.#waiting.delete(task.scope, task);
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
