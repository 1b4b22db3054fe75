import { Worker } from 'node:worker_threads';
import { ApiError, type ErrorFacts, invalidValue } from '../../errors.ts';
import { type GrammarWish, sourceOf } from './answer-grammar.ts';

/** Grammars kept: clients send the same few schemas again and again. */
const KEPT_GRAMMARS = 128;
/** The largest schemas of everyday use take a second. What takes longer than this is meant to, or may as well be. */
const LIMIT_MS = 10_000;

/** What the writing thread says: the grammar, or why there is none. */
export type WrittenGrammar = { id: number; grammar: string } | { id: number; refusal: ErrorFacts };

interface Waiting {
  wish: GrammarWish;
  resolve(grammar: string): void;
  reject(error: unknown): void;
}

/**
 * Writes grammars on a thread of its own, so that a large schema holds up nobody's answer, and keeps them. The thread
 * is started with the first one.
 */
export class GrammarWriter {
  readonly #limitMs: number;
  readonly #kept = new Map<string, Promise<string>>();
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #limit: NodeJS.Timeout | null = null;
  #nextId = 1;

  /** `limitMs`: for one grammar. */
  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs;
  }

  /** The grammar. Rejects with 400 for what cannot be enforced, or takes too long to be worked out. */
  write(wish: GrammarWish): Promise<string> {
    const key = JSON.stringify(wish);
    const known = this.#kept.get(key) ?? this.#ask(wish);
    // Set anew, so that the map is in order of use and its first key is the one to drop.
    this.#kept.delete(key);
    this.#kept.set(key, known);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_GRAMMARS && oldest !== undefined) this.#kept.delete(oldest);
    return known;
  }

  /** Ends the thread. May be called twice. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #ask(wish: GrammarWish): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
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
    thread.on('message', (written: WrittenGrammar) => this.#take(written));
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

  #take(written: WrittenGrammar): void {
    const waiting = this.#waiting.get(written.id);
    this.#waiting.delete(written.id);
    if ('grammar' in written) waiting?.resolve(written.grammar);
    else waiting?.reject(new ApiError(written.refusal));
    this.#startClock();
  }

  /** The oldest is refused, and stays so while it is kept; the others are begun again on a new thread. */
  #giveUp(): void {
    const thread = this.#thread;
    this.#thread = null;
    void thread?.terminate();
    const [oldest, ...others] = this.#waiting.entries();
    if (oldest === undefined) return;
    this.#waiting.delete(oldest[0]);
    oldest[1].reject(invalidValue(sourceOf(oldest[1].wish), 'takes too long to be worked out; make it simpler'));
    for (const [id, { wish }] of others) this.#started().postMessage({ id, wish });
    this.#startClock();
  }

  #ended(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    const failed = [...this.#waiting.values()];
    this.#waiting.clear();
    // A fault of ours is no property of the schema: nothing that failed so is kept.
    this.#kept.clear();
    for (const { reject } of failed) reject(error);
  }
}
