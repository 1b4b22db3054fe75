import { Worker } from 'node:worker_threads';
import type { FactoredGrammar } from '@quire/json-schema-grammar';
import type { ErrorFacts } from '../../../errors.ts';
import type { GrammarSource } from './request-grammar.ts';

/** Heap limit of a thread in MB. The largest schemas of JSONSchemaBench need half of it. */
const HEAP_MB = 512;

/** Message of a compiler thread: its modules are loaded, or the result of a compilation. */
export type CompilerMessage = { ready: true } | { grammar: FactoredGrammar } | { rejection: ErrorFacts };

/** Observes a thread. Not called after `terminate`. */
export interface CompilerThreadListener {
  /** The thread is ready for its first compilation. */
  ready(): void;
  /** The compilation ended. */
  compiled(result: { grammar: FactoredGrammar } | { rejection: ErrorFacts }): void;
  /** The thread ended by itself. */
  failed(error: unknown): void;
}

/** A worker thread that compiles one grammar at a time. */
export class CompilerThread {
  readonly #worker: Worker;
  #isReady = false;
  #isTerminated = false;

  constructor(listener: CompilerThreadListener) {
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
    this.#worker = new Worker(new URL('./grammar-thread.ts', import.meta.url), { name: 'grammar', resourceLimits });
    this.#worker.unref();
    this.#worker.on('message', (message: CompilerMessage) => {
      if (this.#isTerminated) return;
      if ('ready' in message) {
        this.#isReady = true;
        listener.ready();
      } else listener.compiled(message);
    });
    const fail = (error: unknown): void => {
      if (this.#isTerminated) return;
      this.#isTerminated = true;
      listener.failed(error);
    };
    this.#worker.on('error', fail);
    this.#worker.on('exit', () => fail(new Error('The grammar compiler thread exited.')));
  }

  /** Whether its modules are loaded. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts a compilation. Its result goes to the listener. */
  compile(source: GrammarSource): void {
    this.#worker.postMessage(source);
  }

  /** CPU time of the thread since its start in milliseconds. */
  async cpuMs(): Promise<number> {
    const { user, system } = await this.#worker.cpuUsage();
    return (user + system) / 1_000;
  }

  /** Ends the thread, and the compilation on it without a result. */
  async terminate(): Promise<void> {
    this.#isTerminated = true;
    await this.#worker.terminate();
  }
}

/** Whether a thread failed because it exceeded its heap limit. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
