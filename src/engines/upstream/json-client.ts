import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { Backend, ServerState } from '../engine.ts';
import { FairAdmission } from '../fair-admission.ts';
import { invalidResponse } from './error-mapping.ts';
import { type JsonRequest, sendJsonRequest } from './json-request.ts';
import { probe } from './probe.ts';
import { type Replica, Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS, type UpstreamTimeouts } from './timeouts.ts';
import { MAX_REQUESTS_PER_REPLICA, type UpstreamOptions } from './upstream-engine.ts';

/** `Retry-After` of rejected calls. */
const BUSY_RETRY_SECONDS = 1;

/** Options of a JSON client. */
export type JsonClientOptions = Omit<UpstreamOptions, 'contextLength'>;

/**
 * Client of the servers of one model that return single JSON documents, for embedding, rerank and moderation engines.
 * Throws a TypeError for an invalid base URL.
 */
export class JsonClient {
  readonly model: string;
  readonly #apiKey: string | null;
  readonly #timeouts: UpstreamTimeouts;
  readonly #headers: Record<string, string>;
  readonly #replicas: Replicas;
  readonly #maxRequests: number;
  readonly #closing = new AbortController();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  #closed: ApiError | null = null;
  /** Whether any server has responded. Before that, the backend is not ready. */
  #answered = false;

  constructor({ model, apiKey, baseUrls, proxy, logger, ...options }: JsonClientOptions) {
    this.model = model;
    this.#apiKey = apiKey;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.#headers = { 'content-type': 'application/json', 'user-agent': 'quire' };
    if (apiKey !== null) this.#headers['authorization'] = `Bearer ${apiKey}`;
    this.#maxRequests = options.maxRequests ?? MAX_REQUESTS_PER_REPLICA;
    this.#replicas = new Replicas({
      baseUrls,
      proxy,
      timeouts: this.#timeouts,
      logger,
      ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
      probe: (replica, signal) => this.#probe(replica, signal),
    });
    for (const replica of this.#replicas.all) void this.#replicas.probe(replica);
  }

  /** Returns immediately with the current state. */
  backend(): Backend {
    const ready = this.#answered && !this.#closed && this.#replicas.all.some(({ ejectedAt }) => ejectedAt === null);
    return { engine: 'upstream', model: this.model, parameters: null, ready };
  }

  /**
   * Runs a call of an organization, which may send several requests. Throws 503 when the queue is full, or when the
   * call is evicted for another organization.
   */
  async withAdmission<T>(scope: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const evicted = new AbortController();
    const share = 1 / (this.#maxRequests * this.#replicas.all.length);
    const ticket = this.#admission.enter({ scope, share, evict: (error) => evicted.abort(error) });
    try {
      return await work(AbortSignal.any([signal, evicted.signal]));
    } finally {
      ticket.leave();
    }
  }

  /**
   * Sends a request and parses the response with `read`, which throws an Error for an invalid one. Throws an
   * `ApiError`, or the signal's reason.
   */
  async sendJsonRequest<T>(jsonRequest: JsonRequest, read: (response: unknown) => T, signal: AbortSignal): Promise<T> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    const context = {
      replicas: this.#replicas,
      headers: this.#headers,
      apiKey: this.#apiKey,
      timeouts: this.#timeouts,
      contextLength: () => null,
    };
    const response = await sendJsonRequest(context, jsonRequest, AbortSignal.any([signal, this.#closing.signal]));
    this.#answered = true;
    try {
      return read(response);
    } catch (error) {
      throw invalidResponse(new Error(`the server of '${this.model}' returned an invalid response`, { cause: error }));
    }
  }

  /** Resolves when a server responds; otherwise throws an Error with a sentence for the operator. */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#replicas.check(signal);
  }

  /** The state of each server, without I/O. */
  servers(): ServerState[] {
    return this.#replicas.states();
  }

  /** Ends waiting calls with 503 and closes the connections. May be called twice. */
  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    this.#closing.abort(this.#closed);
    await this.#replicas.close(this.#closed);
  }

  async #probe(replica: Replica, signal: AbortSignal): Promise<void> {
    await probe(replica, { model: this.model, headers: this.#headers, timeouts: this.#timeouts }, signal);
    this.#answered = true;
  }
}
