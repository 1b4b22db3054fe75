import { Worker } from 'node:worker_threads';
import { FairQueue } from '../../lib/fair-queue.ts';

/** Texts of one completion with their schema. */
interface Validation {
  /** The organization. */
  scope: string;
  schema: string;
  texts: readonly string[];
  resolve(violation: string | null): void;
}

/** A message of `schema-thread.ts`: it has started, or validated the texts. */
export type SchemaThreadReply = 'ready' | { violation: string | null };

/**
 * A thread that validates texts against schemas, started by the first validation. Organizations take turns. A
 * validation that takes longer than `limitMs` ends the thread, alone. The thread does not keep the process alive.
 */
class ValidationThread {
  readonly #limitMs: number;
  readonly #onTimeout: (validation: Validation) => void;
  readonly #waiting = new FairQueue<Validation>();
  #worker: Worker | null = null;
  #isReady = false;
  #current: { validation: Validation; timer: NodeJS.Timeout } | null = null;

  constructor(limitMs: number, onTimeout: (validation: Validation) => void) {
    this.#limitMs = limitMs;
    this.#onTimeout = onTimeout;
  }

  add(validation: Validation): void {
    this.#waiting.add(validation.scope, validation);
    this.#next();
  }

  #next(): void {
    if (this.#current !== null || this.#waiting.size === 0) return;
    this.#worker ??= this.#open();
    if (!this.#isReady) return;
    const validation = this.#waiting.take();
    if (validation === undefined) return;
    const { schema, texts } = validation;
    this.#current = { validation, timer: setTimeout(() => this.#end(this.#onTimeout), this.#limitMs) };
    this.#worker.ref();
    this.#worker.postMessage({ schema, texts });
  }

  #open(): Worker {
    const worker = new Worker(new URL('./schema-thread.ts', import.meta.url), { name: 'schema' });
    worker.on('message', (reply: SchemaThreadReply) => {
      if (worker !== this.#worker) return;
      if (reply === 'ready') this.#isReady = true;
      else this.#take()?.resolve(reply.violation);
      worker.unref();
      this.#next();
    });
    worker.on('error', () => {
      if (worker === this.#worker) this.#end((validation) => validation.resolve(null));
    });
    return worker;
  }

  /** Ends the thread, and the validation in progress with `settle`; the next one where the thread could not start. */
  #end(settle: (validation: Validation) => void): void {
    void this.#worker?.terminate();
    this.#worker = null;
    this.#isReady = false;
    const validation = this.#take() ?? this.#waiting.take();
    if (validation !== undefined) settle(validation);
    this.#next();
  }

  #take(): Validation | null {
    const current = this.#current;
    this.#current = null;
    clearTimeout(current?.timer);
    return current?.validation ?? null;
  }
}

/** Time after which a validation is a long one. Only patterns that backtrack take more than milliseconds. */
const SLICE_MS = 500;
/** Time of a long validation. Its texts count as valid afterwards. */
const TIMEOUT_MS = 5_000;

const long = new ValidationThread(TIMEOUT_MS, ({ resolve }) => resolve(null));
/** A validation cannot yield, so a long one is ended after a slice, and begins again in a thread for long ones. */
const short = new ValidationThread(SLICE_MS, (validation) => long.add(validation));

/**
 * Returns the first violation of a JSON schema; null for valid texts, and for a schema that cannot be compiled or takes
 * too long. `scope`: the organization.
 */
export function findSchemaViolation(scope: string, schema: object, texts: readonly string[]): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  short.add({ scope, schema: JSON.stringify(schema), texts, resolve });
  return promise;
}
