import { Worker } from 'node:worker_threads';
import { ApiError, type ErrorFacts, invalidValue } from '../../../errors.ts';
import type { FactoredGrammar } from '../grammar/gbnf/factored-grammar.ts';
import { type GrammarSource, grammarParam } from './request-grammar.ts';

/** Bytes of cached grammars and their keys. Clients send the same few schemas again and again. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** Time limit of one grammar. The largest schemas in common use take a second. */
const LIMIT_MS = 10_000;

/** Reply of the compiler thread. */
export type GrammarReply = { id: number; grammar: FactoredGrammar } | { id: number; refusal: ErrorFacts };

interface Cached {
  grammar: Promise<FactoredGrammar>;
  bytes: number;
}

interface Waiting {
  source: GrammarSource;
  resolve(grammar: FactoredGrammar): void;
  reject(error: unknown): void;
}

/**
 * Compiles grammars on a worker thread, so that a large schema does not delay other requests, and caches them. The
 * thread is started by the first grammar.
 */
export class GrammarCompiler {
  readonly #limitMs: number;
  /** Least recently used first. */
  readonly #cached = new Map<string, Cached>();
  #cachedBytes = 0;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #limit: NodeJS.Timeout | null = null;
  #nextId = 1;

  /** `limitMs`: time limit of one grammar. */
  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** Compiles a grammar. Rejects with 400 for what cannot be enforced or takes too long. */
  compile(source: GrammarSource): Promise<FactoredGrammar> {
    const key = JSON.stringify(source);
    const cached = this.#cached.get(key);
    if (cached === undefined) return this.#cache(key, this.#submit(source));
    this.#cached.delete(key);
    this.#cached.set(key, cached);
    return cached.grammar;
  }

  #cache(key: string, grammar: Promise<FactoredGrammar>): Promise<FactoredGrammar> {
    const entry: Cached = { grammar, bytes: 0 };
    this.#cached.set(key, entry);
    const count = (bytes: number): void => {
      if (this.#cached.get(key) !== entry) return;
      entry.bytes += bytes;
      this.#cachedBytes += bytes;
      for (const oldest of this.#cached.keys()) if (this.#cachedBytes > MAX_CACHED_BYTES) this.#drop(oldest);
    };
    count(2 * key.length);
    grammar.then(
      ({ text, elements }) => count(text.length + elements.code.byteLength),
      () => undefined,
    );
    return grammar;
  }

  #drop(key: string): void {
    this.#cachedBytes -= this.#cached.get(key)?.bytes ?? 0;
    this.#cached.delete(key);
  }

  /** Ends the thread. May be called twice. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #submit(source: GrammarSource): Promise<FactoredGrammar> {
    const { promise, resolve, reject } = Promise.withResolvers<FactoredGrammar>();
    const id = this.#nextId++;
    this.#waiting.set(id, { source, resolve, reject });
    this.#started().postMessage({ id, source });
    if (this.#waiting.size === 1) this.#startClock();
    return promise;
  }

  #started(): Worker {
    if (this.#thread !== null) return this.#thread;
    const thread = new Worker(new URL('./grammar-thread.ts', import.meta.url), { name: 'grammar' });
    thread.unref();
    thread.on('message', (reply: GrammarReply) => this.#take(reply));
    thread.on('error', (error) => this.#ended(thread, error));
    thread.on('exit', () => this.#ended(thread, new Error('The grammar compiler thread exited.')));
    this.#thread = thread;
    return thread;
  }

  /** Grammars are compiled in the order of the requests, so the time limit applies to the oldest one. */
  #startClock(): void {
    if (this.#limit !== null) clearTimeout(this.#limit);
    this.#limit = this.#waiting.size === 0 ? null : setTimeout(() => this.#giveUp(), this.#limitMs).unref();
  }

  #take(reply: GrammarReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('grammar' in reply) waiting?.resolve(reply.grammar);
    else waiting?.reject(new ApiError(reply.refusal));
    this.#startClock();
  }

  /** Rejects the oldest grammar, which stays cached as rejected, and restarts the others on a new thread. */
  #giveUp(): void {
    const thread = this.#thread;
    this.#thread = null;
    void thread?.terminate();
    const [oldest, ...others] = this.#waiting.entries();
    if (oldest === undefined) return;
    this.#waiting.delete(oldest[0]);
    oldest[1].reject(invalidValue(grammarParam(oldest[1].source), 'takes too long to compile; simplify it'));
    for (const [id, { source }] of others) this.#started().postMessage({ id, source });
    this.#startClock();
  }

  #ended(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    const failed = [...this.#waiting.values()];
    this.#waiting.clear();
    // An internal error is not a property of the schema: it is not cached.
    this.#cached.clear();
    this.#cachedBytes = 0;
    for (const { reject } of failed) reject(error);
  }
}
