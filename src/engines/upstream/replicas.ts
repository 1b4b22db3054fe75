import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';
import { type Endpoints, parseEndpoints } from './base-url.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Connections to one base URL: one request each, so this is what an upstream gets at once. Ports are 64 thousand. */
const MAX_CONNECTIONS = 1024;

/** Milliseconds that a replica which failed is put aside before it is looked at again, and the most after more failures. */
const MIN_EJECTION_MS = 1000;
const MAX_EJECTION_MS = 30_000;

/** Proxies as the environment names them; null: none. `noProxy` is a list as in `NO_PROXY`. */
export interface ProxySettings {
  httpProxy: string | null;
  httpsProxy: string | null;
  noProxy: string | null;
}

/** One base URL. */
export interface Replica {
  readonly endpoints: Endpoints;
  readonly dispatcher: Dispatcher;
  /** Requests that were sent and have not ended. */
  inFlight: number;
  /** Failures since it last answered. */
  failures: number;
  /** When it last failed, in milliseconds of `performance.now()`; null while it is in use. */
  ejectedAt: number | null;
}

/** What the choice of a replica looks at. */
export type ReplicaLoad = Pick<Replica, 'inFlight' | 'ejectedAt'>;

/**
 * The index of the replica that a request goes to: of those that are not aside the one with the fewest requests, the
 * first of equals counted from `start`; when all are aside, the one that failed longest ago. `avoid` says which this
 * request has tried already: they come after the others.
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

/** What a pool of replicas is made of. `probe` asks one whether it is there, and throws when it is not. */
export interface ReplicasOptions {
  baseUrls: readonly string[];
  proxy: ProxySettings | null;
  timeouts: UpstreamTimeouts;
  logger: Logger;
  maxConnections?: number;
  probe(replica: Replica, signal: AbortSignal): Promise<void>;
}

/** The base URLs of one model: connections to them, their load, and which are put aside because they fail. */
export class Replicas {
  readonly all: readonly Replica[];
  readonly #options: ReplicasOptions;
  readonly #closing = new AbortController();
  readonly #timers = new Map<Replica, NodeJS.Timeout>();
  #turn = 0;

  constructor(options: ReplicasOptions) {
    if (options.baseUrls.length === 0) throw new TypeError("A model's server needs at least one base URL");
    this.#options = options;
    this.all = options.baseUrls.map((baseUrl) => {
      const endpoints = parseEndpoints(baseUrl);
      const dispatcher = createDispatcher(endpoints.origin, options);
      return { endpoints, dispatcher, inFlight: 0, failures: 0, ejectedAt: null };
    });
  }

  /** The replica for the next request; see `leastLoaded`. */
  choose(tried: ReadonlySet<Replica>): Replica {
    this.#turn = (this.#turn + 1) % this.all.length;
    const chosen = this.all[leastLoaded(this.all, (index) => tried.has(this.all[index] as Replica), this.#turn)];
    if (!chosen) throw new RangeError('the choice is one of the replicas');
    return chosen;
  }

  /** It answered: it is in use again. */
  succeeded(replica: Replica): void {
    replica.failures = 0;
    if (replica.ejectedAt === null) return;
    replica.ejectedAt = null;
    clearTimeout(this.#timers.get(replica));
    this.#timers.delete(replica);
    this.#options.logger.info({ upstream: replica.endpoints.origin }, 'the upstream answers again');
  }

  /** It cannot be reached or does not serve: it is put aside, and looked at from time to time until it answers. */
  failed(replica: Replica, why: string): void {
    replica.failures += 1;
    if (replica.ejectedAt === null) {
      this.#options.logger.warn({ upstream: replica.endpoints.origin, why }, 'the upstream is put aside');
    }
    replica.ejectedAt = performance.now();
    if (this.#timers.has(replica) || this.#closing.signal.aborted) return;
    const wait =
      Math.min(MIN_EJECTION_MS * 2 ** Math.min(replica.failures - 1, 10), MAX_EJECTION_MS) * (0.75 + Math.random() / 2);
    // A process that has nothing else to do does not stay for this.
    this.#timers.set(replica, setTimeout(() => void this.probe(replica), wait).unref());
  }

  /** Asks the replica whether it is there, and puts it in use or aside. Never throws. */
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

  /** Resolves when `probe` found one replica that answers; throws why the first does not when none does. */
  async check(probe: (replica: Replica) => Promise<void>, signal: AbortSignal): Promise<void> {
    const checks = this.all.map(async (replica) => {
      await probe(replica);
      this.succeeded(replica);
    });
    const results = await Promise.allSettled(checks);
    signal.throwIfAborted();
    if (results.some(({ status }) => status === 'fulfilled')) return;
    throw results[0]?.status === 'rejected' ? results[0].reason : new Error('The upstream does not answer.');
  }

  /** Breaks all connections and stops looking. May be called twice. */
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
    // One request a connection: an aborted one then closes it, which every server notices.
    allowH2: false,
    pipelining: 1,
  };
  if (proxy === null) return new Pool(origin, options);
  // An absent value would be read from the environment, and a lone HTTP proxy would be used for https too.
  const isHttps = origin.startsWith('https:');
  return new EnvHttpProxyAgent({
    ...options,
    httpProxy: isHttps ? '' : (proxy.httpProxy ?? ''),
    httpsProxy: isHttps ? (proxy.httpsProxy ?? '') : '',
    noProxy: proxy.noProxy ?? '',
  });
}
