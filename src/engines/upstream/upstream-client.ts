import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ProxySettings } from '../../lib/proxy.ts';
import type { AffinityCounts, Backend, ServerState } from '../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../fair-admission.ts';
import type { AttemptContext } from './attempt.ts';
import { invalidResponse } from './error-mapping.ts';
import { type JsonRequest, sendJsonRequest } from './json-request.ts';
import { NOT_REPORTED, probe } from './probe.ts';
import { Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS, type UpstreamTimeouts } from './timeouts.ts';
import { protocolHeaders, type UpstreamProtocol } from './upstream-protocol.ts';

/** Concurrent requests of one call; the server has other callers too. */
export const MAX_CONCURRENT_REQUESTS = 4;
/** Maximum requests per base URL; each holds its prompt or texts in memory. */
const MAX_REQUESTS_PER_REPLICA = 4096;
/** `Retry-After` of rejected calls. */
const BUSY_RETRY_SECONDS = 1;

/** Options of the client of an upstream. */
export interface UpstreamClientOptions {
  /** At least one; see `parseEndpoints` for the format. All serve the same model. */
  baseUrls: readonly string[];
  /** The upstream's own name of the model. */
  model: string;
  /** The API of the servers. `openai` by default. */
  protocol?: UpstreamProtocol;
  /** Sent as the protocol sends keys; null: not sent. */
  apiKey: string | null;
  /** Null: no proxy. The environment is not read. */
  proxy: ProxySettings | null;
  timeouts?: Partial<UpstreamTimeouts>;
  /** Maximum connections per base URL; further requests wait. 1024 by default. */
  maxConnections?: number;
  /** Maximum requests per base URL, waiting ones included. 4096 by default. */
  maxRequests?: number;
  logger: Logger;
}

/**
 * The servers of one model: replicas, credentials, admission and state. Probes each of them once in the background, so
 * that `backend` and `info` are known soon. Throws a TypeError for an invalid base URL.
 */
export class UpstreamClient {
  readonly model: string;
  readonly context: AttemptContext;
  /** What the last probe reported. */
  info = NOT_REPORTED;
  readonly #replicas: Replicas;
  /** Fraction of the queue that a request takes. */
  readonly #share: number;
  readonly #closing = new AbortController();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  #closed: ApiError | null = null;

  constructor(options: UpstreamClientOptions) {
    const { model, apiKey, baseUrls, proxy, logger, maxConnections, maxRequests = MAX_REQUESTS_PER_REPLICA } = options;
    this.model = model;
    const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    const protocol = options.protocol ?? 'openai';
    const credentials = protocolHeaders(protocol, apiKey);
    const headers = { 'content-type': 'application/json', 'user-agent': 'quire', ...credentials };
    this.#replicas = new Replicas({
      baseUrls,
      proxy,
      timeouts,
      logger,
      ...(maxConnections !== undefined && { maxConnections }),
      probe: async (replica, signal) => {
        const info = await probe(replica, { model, protocol, headers, timeouts }, signal);
        this.info = { ...info, contextLength: info.contextLength ?? this.info.contextLength };
      },
    });
    this.context = { replicas: this.#replicas, headers, apiKey, timeouts };
    this.#share = 1 / (maxRequests * baseUrls.length);
    for (const replica of this.#replicas.all) void this.#replicas.probe(replica);
  }

  /** Aborts with the error of calls when the client closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Returns immediately with the current state. */
  backend(): Backend {
    const ready = !this.#closed && this.#replicas.isReady;
    return { engine: 'upstream', model: this.model, parameters: null, ready };
  }

  /** Throws 503 once the client is closed. */
  requireOpen(): void {
    if (this.#closed) throw this.#closed;
  }

  /** Enters the queue. Throws 503 when it is full and no other organization has more requests in it. */
  enter(scope: string, evict: (error: ApiError) => void): AdmissionTicket {
    return this.#admission.enter({ scope, share: this.#share, evict });
  }

  /**
   * Runs a call of an organization, which may send several requests. Throws 503 when the queue is full, or when the
   * call is evicted for another organization.
   */
  async withAdmission<T>(scope: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const evicted = new AbortController();
    const ticket = this.enter(scope, (error) => evicted.abort(error));
    try {
      return await work(AbortSignal.any([signal, evicted.signal]));
    } finally {
      ticket.leave();
    }
  }

  /**
   * Sends a request and parses the response with `read`, which throws an Error for an invalid one. Throws an
   * `ApiError`, `DialectMismatchError` if the request allows it, or the signal's reason.
   */
  async sendJsonRequest<T>(jsonRequest: JsonRequest, read: (response: unknown) => T, signal: AbortSignal): Promise<T> {
    this.requireOpen();
    signal.throwIfAborted();
    const response = await sendJsonRequest(this.context, jsonRequest, AbortSignal.any([signal, this.#closing.signal]));
    try {
      return read(response);
    } catch (error) {
      throw invalidResponse(new Error(`the server of '${this.model}' returned an invalid response`, { cause: error }));
    }
  }

  /** Resolves when a server responds; otherwise throws an Error with a sentence for the operator. */
  async check(signal: AbortSignal): Promise<void> {
    this.requireOpen();
    await this.#replicas.check(signal);
  }

  /** The state of each server, without I/O. */
  servers(): ServerState[] {
    return this.#replicas.states();
  }

  /** How prompts were placed on the servers. */
  affinity(): AffinityCounts {
    return this.#replicas.affinity;
  }

  /** Ends waiting calls with 503 and closes the connections. May be called twice. */
  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    this.#closing.abort(this.#closed);
    await this.#replicas.close(this.#closed);
  }
}
