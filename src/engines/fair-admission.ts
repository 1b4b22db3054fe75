import type { ApiError } from '../errors.ts';

/** Fraction of a queue that one organization may fill. The rest admits other organizations without an eviction. */
export const MAX_SCOPE_SHARE = 0.75;

/** Tolerance for sums of fractions. */
const FULL = 1 - 1e-9;

/** A queued request. */
export interface QueueEntry {
  /** The organization. */
  scope: string;
  /** Fraction of the queue's capacity; may exceed 1 for a single request. */
  share: number;
  /** False once the engine has started the request. */
  evictable: boolean;
}

/** Decision about a new request. `evict`: indices of queued requests to evict for it. */
export type AdmissionDecision = { evict: readonly number[] } | { rejected: 'scope full' | 'queue full' };

/**
 * Decides whether a new request is queued, rejected or replaces another one. A queue is full when its shares add up to
 * 1. Then the organization with the largest share, including the new request, loses its newest request that has not
 * started. On a tie, the new request is rejected, so that two organizations do not evict each other alternately.
 * Nothing is evicted for a request that is rejected. Pure. `queued` is in order of arrival.
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

/** Finds the newest evictable request of the organization with the largest share. */
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
    // Entries are in order of arrival: the last one of a scope is its newest.
    largest = share;
    newest = index;
  }
  return newest;
}

/** A request at the admission. `share` may shrink during processing. */
export interface AdmissionRequest {
  scope: string;
  readonly share: number;
  /** Ends the request with an error, to make room for another organization. Called at most once, before `begun`. */
  evict(error: ApiError): void;
}

/** A queued request's handle. */
export interface AdmissionTicket {
  /** Marks the request as started: it is no longer evicted. Idempotent. */
  markStarted(): void;
  /** Removes the request from the queue. Idempotent, also after an eviction. */
  leave(): void;
}

interface Entry {
  request: AdmissionRequest;
  isStarted: boolean;
}

/** Admission control of a queue shared by organizations: bounds it, and sheds load of the largest one first. */
export class FairAdmission {
  readonly #error: (message: string) => ApiError;
  /** In order of arrival. */
  readonly #entries = new Set<Entry>();

  /** `error` creates the error of rejected and evicted callers: 503 `engine_unavailable` with `Retry-After`. */
  constructor(error: (message: string) => ApiError) {
    this.#error = error;
  }

  /** Adds a request to the queue, evicting others if that is fair. Throws when it is rejected. */
  enter(request: AdmissionRequest): AdmissionTicket {
    if (!this.#hasRoom(request.scope)) this.#makeRoom(request);
    const entry: Entry = { request, isStarted: false };
    this.#entries.add(entry);
    return {
      markStarted: () => {
        entry.isStarted = true;
      },
      leave: () => void this.#entries.delete(entry),
    };
  }

  /**
   * Whether `decideAdmission` admits a request of the scope without eviction. Allocates nothing: runs for every call.
   */
  #hasRoom(scope: string): boolean {
    let total = 0;
    let own = 0;
    for (const { request } of this.#entries) {
      const { share } = request;
      total += share;
      if (request.scope === scope) own += share;
    }
    return own < MAX_SCOPE_SHARE && total < FULL;
  }

  /** Evicts requests of other organizations. Throws when the request is rejected. */
  #makeRoom(request: AdmissionRequest): void {
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
  }
}

const QUEUE_FULL = 'Too many requests wait for this model; try again later.';
const SCOPE_FULL = 'Too many requests of your organization wait for this model; try again later.';
