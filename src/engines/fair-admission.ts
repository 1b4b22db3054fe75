import type { ApiError } from '../errors.ts';

/** Fraction of a queue that one organization may fill: the rest admits others without an eviction. */
export const MAX_SCOPE_SHARE = 0.75;

/** Shares are fractions that do not add up to 1 exactly. */
const FULL = 1 - 1e-9;

/** A request that occupies a part of an engine's queue. */
export interface QueueEntry {
  /** The organization. */
  scope: string;
  /** Fraction of the queue's capacity; a single request may have more than 1. */
  share: number;
  /** False once the engine has begun the request. */
  evictable: boolean;
}

/** What becomes of a new request. `evict`: indices of queued requests that make room for it. */
export type AdmissionDecision = { evict: readonly number[] } | { rejected: 'scope full' | 'queue full' };

/**
 * Decides what becomes of a new request. A queue is full when its shares add up to 1. Then the organization with the
 * largest share, the new request included, loses its newest request that has not begun; of equals it is the new request
 * that is rejected, so that two organizations do not evict each other in turn. Nothing is evicted for a request that is
 * rejected in the end. Pure. `queued` is in order of arrival.
 */
export function decideAdmission(
  queued: readonly QueueEntry[],
  request: Pick<QueueEntry, 'scope' | 'share'>,
): AdmissionDecision {
  const shares = new Map<string, number>();
  let total = 0;
  for (const { scope, share } of queued) {
    shares.set(scope, (shares.get(scope) ?? 0) + share);
    total += share;
  }
  const own = shares.get(request.scope) ?? 0;
  if (own >= MAX_SCOPE_SHARE) return { rejected: 'scope full' };
  const evict = new Set<number>();
  while (total >= FULL) {
    const newest = newestEvictableOfLargestScope(queued, shares, evict);
    const victim = newest === null ? undefined : queued[newest];
    if (newest === null || victim === undefined) return { rejected: 'queue full' };
    const largest = shares.get(victim.scope) ?? 0;
    if (largest <= own + request.share) return { rejected: 'queue full' };
    evict.add(newest);
    shares.set(victim.scope, largest - victim.share);
    total -= victim.share;
  }
  return { evict: [...evict] };
}

/** Of the organizations that have something to evict, the newest request of the one with the largest share. */
function newestEvictableOfLargestScope(
  queued: readonly QueueEntry[],
  shares: ReadonlyMap<string, number>,
  evicted: ReadonlySet<number>,
): number | null {
  let newest: number | null = null;
  let largest = 0;
  for (const [index, { scope, evictable }] of queued.entries()) {
    const share = shares.get(scope) ?? 0;
    if (!evictable || evicted.has(index) || share < largest) continue;
    // Entries come in order of arrival: the last one of a scope is its newest.
    largest = share;
    newest = index;
  }
  return newest;
}

/** A request at the admission. `share` may shrink while the request is worked on. */
export interface AdmissionRequest {
  scope: string;
  readonly share: number;
  /** Ends the request with an error, for another organization needs its place. Called at most once, and only before `begun`. */
  evict(error: ApiError): void;
}

/** The place of a request in the queue. */
export interface AdmissionTicket {
  /** The engine works on the request: it is no longer evicted. May be called twice. */
  markStarted(): void;
  /** The request has ended. May be called twice, and after an eviction. */
  leave(): void;
}

interface Entry {
  request: AdmissionRequest;
  isStarted: boolean;
}

/** Admission control of one queue that organizations share: bounds it, and sheds load of the largest one first. */
export class FairAdmission {
  readonly #error: (message: string) => ApiError;
  /** In order of arrival. */
  readonly #entries = new Set<Entry>();

  /** `error` makes what a rejected or evicted caller is told: 503 `engine_unavailable` with `Retry-After`. */
  constructor(error: (message: string) => ApiError) {
    this.#error = error;
  }

  /** Takes a place in the queue, and evicts others where that is fair. Throws when there is no place. */
  enter(request: AdmissionRequest): AdmissionTicket {
    const entries = [...this.#entries];
    const queued = entries.map(({ request: { scope, share }, isStarted }) => ({ scope, share, evictable: !isStarted }));
    const admission = decideAdmission(queued, request);
    if ('rejected' in admission) throw this.#error(admission.rejected === 'queue full' ? QUEUE_FULL : SCOPE_FULL);
    for (const index of admission.evict) {
      const entry = entries[index];
      if (entry === undefined) continue;
      this.#entries.delete(entry);
      entry.request.evict(this.#error(SCOPE_FULL));
    }
    const entry: Entry = { request, isStarted: false };
    this.#entries.add(entry);
    return {
      markStarted: () => {
        entry.isStarted = true;
      },
      leave: () => void this.#entries.delete(entry),
    };
  }
}

const QUEUE_FULL = 'Too many requests wait for this model; try again later.';
const SCOPE_FULL = 'Too many requests of your organization wait for this model; try again later.';
