import { engineUnavailable } from '../errors.ts';

/** Most requests complete within a second and release their bodies. */
const RETRY_SECONDS = 2;

/** Maximum share of the budget held by one organization, so that one tenant cannot exhaust it. */
const ORGANIZATION_SHARE = 0.5;

/** The bytes of the budget held by one request body. */
export interface BodyReservation {
  /** Maximum size of the body in bytes; absent: that of all bodies. */
  limitBytes?: number;
  /** Aborts, with the error of the response, when the body may not arrive any longer; absent: never. */
  signal?: AbortSignal;
  /** Called when the whole body has arrived. */
  arrived?(): void;
  /** Adds bytes as they arrive. Throws 503 `engine_unavailable` when they do not fit. */
  grow(bytes: number): void;
  /** Bytes of the body that have arrived. */
  bytes(): number;
  /** Returns all bytes to the budget. Idempotent. */
  release(): void;
}

/** Bounds the bytes of all JSON bodies in flight, from arrival until the response has been sent. */
export class BodyBudget {
  readonly #totalBytes: number;
  readonly #held = new Map<string, number>();
  #heldBytes = 0;

  readonly #released: (bytes: number) => void;

  /** `released` is called with the size of each released body. */
  constructor(totalBytes: number, released: (bytes: number) => void = () => {}) {
    this.#totalBytes = totalBytes;
    this.#released = released;
  }

  /** Bytes held by all requests in flight. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Opens an empty reservation for one request of the organization. */
  open(organizationId: string): BodyReservation {
    let reservedBytes = 0;
    return {
      grow: (bytes) => {
        const organizationBytes = (this.#held.get(organizationId) ?? 0) + bytes;
        const isOver = this.#heldBytes + bytes > this.#totalBytes;
        if (isOver || organizationBytes > this.#totalBytes * ORGANIZATION_SHARE) {
          throw engineUnavailable('Too many request bodies are in flight; send fewer or smaller ones.', RETRY_SECONDS);
        }
        reservedBytes += bytes;
        this.#heldBytes += bytes;
        this.#held.set(organizationId, organizationBytes);
      },
      bytes: () => reservedBytes,
      release: () => {
        const remaining = (this.#held.get(organizationId) ?? 0) - reservedBytes;
        this.#heldBytes -= reservedBytes;
        this.#released(reservedBytes);
        reservedBytes = 0;
        if (remaining > 0) this.#held.set(organizationId, remaining);
        else this.#held.delete(organizationId);
      },
    };
  }
}
