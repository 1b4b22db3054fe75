import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { Backend } from '../engine.ts';
import type { Moderation, ModerationEngine } from '../moderation-engine.ts';
import { unusableAnswer } from './error-mapping.ts';
import { moderationOf } from './moderation-answer.ts';
import { probe } from './probe.ts';
import { ask } from './question.ts';
import { type Replica, Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS, type UpstreamTimeouts } from './timeouts.ts';
import type { UpstreamOptions } from './upstream-engine.ts';

/** Bytes of an answer: a thousand results with the names of many categories have one or two megabytes. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Judges texts by asking servers of the OpenAI kind, at `/moderations`. Throws a TypeError when a base URL is none. */
export function createUpstreamModeration(options: Omit<UpstreamOptions, 'contextLength'>): ModerationEngine {
  return new UpstreamModeration(options);
}

class UpstreamModeration implements ModerationEngine {
  readonly #model: string;
  readonly #apiKey: string | null;
  readonly #timeouts: UpstreamTimeouts;
  readonly #headers: Record<string, string>;
  readonly #replicas: Replicas;
  readonly #closing = new AbortController();
  #closed: ApiError | null = null;
  /** Whether an upstream has answered at all: before that nothing is known to be ready. */
  #answered = false;

  constructor({ model, apiKey, baseUrls, proxy, logger, ...options }: Omit<UpstreamOptions, 'contextLength'>) {
    this.#model = model;
    this.#apiKey = apiKey;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.#headers = { 'content-type': 'application/json', 'user-agent': 'quire' };
    if (apiKey !== null) this.#headers['authorization'] = `Bearer ${apiKey}`;
    this.#replicas = new Replicas({
      baseUrls,
      proxy,
      timeouts: this.#timeouts,
      logger,
      ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
      probe: (replica, signal) => this.#probe(replica, signal),
    });
    for (const replica of this.#replicas.all) void this.#replicas.lookAt(replica);
  }

  backend(): Backend {
    const ready = this.#answered && !this.#closed && this.#replicas.all.some(({ asideSince }) => asideSince === null);
    return { engine: 'upstream', model: this.#model, parameters: null, ready };
  }

  async moderate(texts: readonly string[], signal: AbortSignal): Promise<Moderation> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    const context = {
      replicas: this.#replicas,
      headers: this.#headers,
      apiKey: this.#apiKey,
      timeouts: this.#timeouts,
    };
    const question = {
      endpoint: 'moderations' as const,
      body: JSON.stringify({ model: this.#model, input: texts }),
      param: 'input',
      maxAnswerBytes: MAX_ANSWER_BYTES,
    };
    const answer = await ask(context, question, AbortSignal.any([signal, this.#closing.signal]));
    this.#answered = true;
    try {
      return moderationOf(answer, texts);
    } catch (error) {
      throw unusableAnswer(new Error('the moderation server gave no usable answer', { cause: error }));
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#replicas.check((replica) => this.#probe(replica, signal), signal);
  }

  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    this.#closing.abort(this.#closed);
    await this.#replicas.close(this.#closed);
  }

  async #probe(replica: Replica, signal: AbortSignal): Promise<void> {
    await probe(replica, { model: this.#model, headers: this.#headers, timeouts: this.#timeouts }, signal);
    this.#answered = true;
  }
}
