import { type Dispatcher, Pool } from 'undici';
import type { Logger } from '../../lib/logger.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { describeError } from '../../lib/operator-error.ts';
import { createProxyAgent, type ProxySettings } from '../../lib/proxy.ts';
import { rejectOnAbort } from '../../lib/reject-on-abort.ts';
import type { AffinityCounts, ServerState } from '../engine.ts';
import { type Endpoints, parseEndpoints } from './base-url.ts';
import { chooseWithinBound, type ReplicaLoad, rankReplicas } from './prefix-affinity.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Maximum connections per base URL, one request each. Hosts have 64 thousand ports. */
const MAX_CONNECTIONS = 1024;

/** Milliseconds that a failed replica is ejected before it is probed: initially, and at most (exponential backoff). */
const MIN_EJECTION_MS = 1000;
const MAX_EJECTION_MS = 30_000;

/** Prefixes whose replica is known: more than the caches of the replicas hold. */
const MAX_PLACEMENTS = 16_384;

/** One base URL. */
export interface Replica {
  readonly endpoints: Endpoints;
  readonly dispatcher: Dispatcher;
  /** Requests in flight. */
  inFlight: number;
  /** Consecutive failures. */
  failures: number;
  /** Time of the last failure in milliseconds of `performance.now()`; null while the replica is healthy. */
  ejectedAt: number | null;
  /** The last failure, which a later success does not delete; `at`: Unix milliseconds. */
  lastError: { message: string; at: number } | null;
}

/**
 * Returns the index of the replica for a request: the healthy one with the fewest requests in flight, ties round robin
 * from `start`; when all are ejected, the one that failed longest ago. `avoid`: replicas that this request has tried
 * come last.
 */
export function leastLoaded(
  replicas: readonly ReplicaLoad[],
  avoid: (index: number) => boolean,
  start: number,
): number {
  let best = 0;
  let bestRank = [Number.POSITIVE_INFINITY];
  for (let step = 0; step < replicas.length; step += 1) {
    const index = (start + step) % replicas.length;
    const replica = replicas[index];
    if (!replica) continue;
    const { ejectedAt, inFlight } = replica;
    const rank = [ejectedAt === null ? 0 : 1, avoid(index) ? 1 : 0, ejectedAt ?? 0, inFlight];
    if (isLowerRank(rank, bestRank)) {
      best = index;
      bestRank = rank;
    }
  }
  return best;
}

function isLowerRank(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at !== -1 && (a[at] ?? 0) < (b[at] ?? 0);
}

/** Options of a replica set. `probe` throws when a replica does not respond. */
export interface ReplicasOptions {
  baseUrls: readonly string[];
  proxy: ProxySettings | null;
  timeouts: UpstreamTimeouts;
  logger: Logger;
  maxConnections?: number;
  probe(replica: Replica, signal: AbortSignal): Promise<void>;
}

/** The base URLs of one model: connections, load balancing and outlier ejection. */
export class Replicas {
  readonly all: readonly Replica[];
  readonly #options: ReplicasOptions;
  readonly #closing = new AbortController();
  readonly #timers = new Map<Replica, NodeJS.Timeout>();
  /** Checks that have not settled. */
  readonly #checks = new Map<Replica, Promise<void>>();
  /** The replica of each prefix that was sent last. A prefix that had to move stays where it went. */
  readonly #placements = new LruMap<string, number>(MAX_PLACEMENTS);
  readonly affinity: AffinityCounts = { first: 0, hit: 0, moved: 0 };
  #turn = 0;
  #hasResponded = false;

  constructor(options: ReplicasOptions) {
    if (options.baseUrls.length === 0) throw new TypeError("A model's server needs at least one base URL");
    this.#options = options;
    this.all = options.baseUrls.map((baseUrl) => {
      const endpoints = parseEndpoints(baseUrl);
      const dispatcher = createDispatcher(endpoints.origin, options);
      return { endpoints, dispatcher, inFlight: 0, failures: 0, ejectedAt: null, lastError: null };
    });
  }

  /** Whether any replica has responded, and one is healthy. */
  get isReady(): boolean {
    return this.#hasResponded && this.all.some(({ ejectedAt }) => ejectedAt === null);
  }

  /**
   * Returns the replica for the next request. Prompts with a common prefix, by its key, share one within the bound of
   * its load; otherwise the least loaded one (`leastLoaded`). `tried`: replicas that this request has tried.
   */
  choose(tried: ReadonlySet<Replica>, prefix: string | null = null): Replica {
    this.#turn = (this.#turn + 1) % this.all.length;
    const isTried = (index: number) => tried.has(this.all[index] as Replica);
    const affine = prefix === null || this.all.length === 1 ? null : this.#chooseAffine(prefix, isTried);
    const chosen = this.all[affine ?? leastLoaded(this.all, isTried, this.#turn)];
    if (!chosen) throw new RangeError('the choice is one of the replicas');
    return chosen;
  }

  #chooseAffine(prefix: string, isTried: (index: number) => boolean): number | null {
    const last = this.#placements.get(prefix);
    const order = rankReplicas(prefix, this.#options.baseUrls);
    const index = chooseWithinBound(this.all, { last, order }, isTried);
    if (index === null) return null;
    this.#placements.set(prefix, index);
    this.affinity[last === undefined ? 'first' : last === index ? 'hit' : 'moved'] += 1;
    return index;
  }

  /** The replica responded: it is healthy. */
  succeeded(replica: Replica): void {
    this.#hasResponded = true;
    replica.failures = 0;
    if (replica.ejectedAt === null) return;
    replica.ejectedAt = null;
    clearTimeout(this.#timers.get(replica));
    this.#timers.delete(replica);
    this.#options.logger.info({ upstream: replica.endpoints.origin }, 'upstream healthy again');
  }

  /** The replica failed: it is ejected, and probed until it responds. */
  failed(replica: Replica, why: string): void {
    replica.failures += 1;
    if (replica.ejectedAt === null) {
      this.#options.logger.warn({ upstream: replica.endpoints.origin, why }, 'upstream ejected');
    }
    replica.ejectedAt = performance.now();
    replica.lastError = { message: why, at: Date.now() };
    if (this.#timers.has(replica) || this.#closing.signal.aborted) return;
    const wait =
      Math.min(MIN_EJECTION_MS * 2 ** Math.min(replica.failures - 1, 10), MAX_EJECTION_MS) * (0.75 + Math.random() / 2);
    // Does not keep the process alive.
    this.#timers.set(replica, setTimeout(() => void this.probe(replica), wait).unref());
  }

  /** Probes a replica and marks it healthy or ejected. Never throws. */
  async probe(replica: Replica): Promise<void> {
    const { signal } = this.#closing;
    clearTimeout(this.#timers.get(replica));
    this.#timers.delete(replica);
    try {
      await this.#options.probe(replica, signal);
      this.succeeded(replica);
    } catch (error) {
      if (!signal.aborted) this.failed(replica, describeError(error));
    }
  }

  /**
   * Resolves when one replica responds; otherwise throws the error of the first one. Ejects healthy replicas that do
   * not respond: the probes of the others go on after the return, within their own timeouts, so that a hanging replica
   * delays no check.
   */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const checks = this.all.map((replica) => this.#checkReplica(replica));
    try {
      await rejectOnAbort(Promise.any(checks), signal);
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  /** Joins a check of the replica that runs already. */
  #checkReplica(replica: Replica): Promise<void> {
    const running = this.#checks.get(replica);
    if (running !== undefined) return running;
    const { signal } = this.#closing;
    const check = this.#options.probe(replica, signal).then(
      () => this.succeeded(replica),
      (error: unknown) => {
        // An ejected replica has its own probes, whose backoff checks must not extend.
        if (replica.ejectedAt === null && !signal.aborted) this.failed(replica, describeError(error));
        throw error;
      },
    );
    this.#checks.set(replica, check);
    const forget = () => void this.#checks.delete(replica);
    check.then(forget, forget);
    return check;
  }

  /** The state of each replica, without I/O. */
  states(): ServerState[] {
    return this.all.map(({ endpoints, inFlight, ejectedAt, lastError }) => ({
      url: endpoints.origin,
      isHealthy: ejectedAt === null,
      inFlight,
      lastError,
    }));
  }

  /** Closes all connections and stops probing. May be called twice. */
  async close(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.all.map(({ dispatcher }) => dispatcher.destroy(reason)));
  }
}

function createDispatcher(origin: string, { proxy, timeouts, maxConnections }: ReplicasOptions): Dispatcher {
  const options = {
    connections: maxConnections ?? MAX_CONNECTIONS,
    connect: { timeout: timeouts.connectSeconds * 1000 },
    // One request per connection: an abort closes it, which every server notices.
    allowH2: false,
    pipelining: 1,
  };
  return proxy === null ? new Pool(origin, options) : createProxyAgent(proxy, new URL(origin).protocol, options);
}
