import { FairSemaphore } from '../lib/fair-semaphore.ts';

/** Bytes of requests and responses of the running lines of this process. A heavier line runs alone. */
const MAX_WEIGHT = 64 * 1024 * 1024;

/**
 * Bounds the lines that run concurrently in this process, in number and in bytes. An organization leaves an eighth of
 * the permits, and half of the memory, to others.
 */
export function createLinePermits(total: number): FairSemaphore {
  const perGroup = total - Math.floor(total / 8);
  return new FairSemaphore({ total, perGroup, maxWeight: MAX_WEIGHT, maxGroupWeight: MAX_WEIGHT / 2 });
}
