import { type ApiError, engineUnavailable, requestTimeout } from '../errors.ts';
import type { BodyReservation } from './body-budget.ts';

/** Maximum body of a route that needs no key, in bytes. The longest form, fully escaped, has 8 KiB. */
export const MAX_PUBLIC_BODY_BYTES = 16_384;
/** Time for such a body to arrive. */
export const PUBLIC_BODY_MS = 10_000;
/** Requests with such a body in flight: 4 MiB of bodies. */
const MAX_BODIES = 256;
/** Maximum of these for one client network. */
const MAX_PER_NETWORK = 32;

/** Most requests complete within a second. */
const RETRY_SECONDS = 2;

interface Body {
  network: string;
  isArriving: boolean;
  abort: AbortController;
}

/**
 * Bounds the requests with a body that need no key, from their admission until the response has been sent. When a
 * network or the service has too many, the oldest body that is still arriving gives way, of the network with the most
 * of them: clients that send their body at once are admitted beside any number of slow ones.
 */
export class PublicBodies {
  readonly #timeoutMs: number;
  /** Oldest first. */
  readonly #bodies = new Set<Body>();

  constructor(timeoutMs = PUBLIC_BODY_MS) {
    this.#timeoutMs = timeoutMs;
  }

  /** Opens a reservation for one request. Throws 503 `engine_unavailable` when no other request can give way. */
  open(network: string): BodyReservation {
    const own = [...this.#bodies].filter((body) => body.network === network);
    if (own.length >= MAX_PER_NETWORK) this.#evictOldest(own);
    else if (this.#bodies.size >= MAX_BODIES) this.#evictOldest(this.#arrivingOfLargestNetwork());
    const body: Body = { network, isArriving: true, abort: new AbortController() };
    this.#bodies.add(body);
    const timer = setTimeout(() => this.#reject(body, requestTimeout()), this.#timeoutMs).unref();
    let bytes = 0;
    return {
      limitBytes: MAX_PUBLIC_BODY_BYTES,
      signal: body.abort.signal,
      grow: (added) => {
        bytes += added;
      },
      bytes: () => bytes,
      arrived: () => {
        body.isArriving = false;
        clearTimeout(timer);
      },
      release: () => {
        this.#bodies.delete(body);
        clearTimeout(timer);
      },
    };
  }

  #arrivingOfLargestNetwork(): Body[] {
    const arriving = [...this.#bodies].filter(({ isArriving }) => isArriving);
    const networks = [...Map.groupBy(arriving, ({ network }) => network).values()];
    return networks.toSorted((one, other) => other.length - one.length)[0] ?? [];
  }

  #evictOldest(bodies: readonly Body[]): void {
    const oldest = bodies.find(({ isArriving }) => isArriving);
    if (oldest === undefined) throw tooManyBodies();
    this.#reject(oldest, tooManyBodies());
  }

  #reject(body: Body, error: ApiError): void {
    this.#bodies.delete(body);
    body.abort.abort(error);
  }
}

const tooManyBodies = () =>
  engineUnavailable('Too many requests of clients without an API key are in flight.', RETRY_SECONDS);
