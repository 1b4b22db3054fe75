import { Worker } from 'node:worker_threads';
import { ApiError, type ErrorFacts, invalidValue } from '../../../errors.ts';
import type { FactoredGrammar } from '../grammar/gbnf/factored-grammar.ts';
import { type GrammarSource, grammarParam } from './request-grammar.ts';

/** Bytes of the grammars that are cached, and of their keys: clients send the same few schemas again and again. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** The largest schemas of everyday use take a second. What takes longer than this is meant to, or may as well be. */
const LIMIT_MS = 10_000;

/** What the writing thread says: the grammar, or why there is none. */
export type GrammarReply = { id: number; grammar: FactoredGrammar } | { id: number; refusal: ErrorFacts };

interface Cached {
  grammar: Promise<FactoredGrammar>;
  bytes: number;
}

interface Waiting {
  wish: GrammarSource;
  resolve(grammar: FactoredGrammar): void;
  reject(error: unknown): void;
}

/**
 * Writes grammars on a thread of its own, so that a large schema holds up nobody's answer, and caches them. The thread
 * is started with the first one.
 */
export class GrammarCompiler {
  readonly #limitMs: number;
  /** In order of use. */
  readonly #cached = new Map<string, Cached>();
  #cachedBytes = 0;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #limit: NodeJS.Timeout | null = null;
  #nextId = 1;

  /** `limitMs`: for one grammar. */
  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** The grammar. Rejects with 400 for what cannot be enforced, or takes too long to be worked out. */
  write(wish: GrammarSource): Promise<FactoredGrammar> {
    const key = JSON.stringify(wish);
    const cached = this.#cached.get(key);
    if (cached === undefined) return this.#cache(key, this.#ask(wish));
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

  #ask(wish: GrammarSource): Promise<FactoredGrammar> {
    const { promise, resolve, reject } = Promise.withResolvers<FactoredGrammar>();
    const id = this.#nextId++;
    this.#waiting.set(id, { wish, resolve, reject });
    this.#started().postMessage({ id, wish });
    if (this.#waiting.size === 1) this.#startClock();
    return promise;
  }

  #started(): Worker {
    if (this.#thread !== null) return this.#thread;
    const thread = new Worker(new URL('./grammar-thread.ts', import.meta.url), { name: 'grammar' });
    thread.unref();
    thread.on('message', (reply: GrammarReply) => this.#take(reply));
    thread.on('error', (error) => this.#ended(thread, error));
    thread.on('exit', () => this.#ended(thread, new Error('The thread that writes grammars ended.')));
    this.#thread = thread;
    return thread;
  }

  /** They are written in the order in which they were asked for, so the clock is always that of the oldest. */
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

  /** The oldest is refused, and stays so while it is cached; the others are begun again on a new thread. */
  #giveUp(): void {
    const thread = this.#thread;
    this.#thread = null;
    void thread?.terminate();
    const [oldest, ...others] = this.#waiting.entries();
    if (oldest === undefined) return;
    this.#waiting.delete(oldest[0]);
    oldest[1].reject(invalidValue(grammarParam(oldest[1].wish), 'takes too long to be worked out; make it simpler'));
    for (const [id, { wish }] of others) this.#started().postMessage({ id, wish });
    this.#startClock();
  }

  #ended(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    const failed = [...this.#waiting.values()];
    this.#waiting.clear();
    // A fault of ours is no property of the schema: nothing that failed so is cached.
    this.#cached.clear();
    this.#cachedBytes = 0;
    for (const { reject } of failed) reject(error);
  }
}
