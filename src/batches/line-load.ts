import type { Registry } from 'prom-client';
import type { FairSemaphore } from '../lib/fair-semaphore.ts';
import { createLinePermits } from './line-permits.ts';
import { batchMetrics } from './metrics.ts';

/** The lines of batches that this process runs: what it takes from the queue next depends on them. */
export class LineLoad {
  /** Bounds the lines that run concurrently. */
  readonly permits: FairSemaphore;
  /** Ranges of each organization with lines that have not had a permit yet. */
  readonly #waitingRanges = new Map<string, number>();
  /** Lines of each batch without a result, in the ranges of this process. */
  readonly #unfinished = new Map<string, number>();
  /** Ends the count of each batch among the running ones. */
  readonly #ends = new Map<string, () => void>();
  readonly #metrics: Registry;
  readonly #onChange: () => void;

  /** `onChange`: an organization is not busy any more. */
  constructor(concurrency: number, { metrics, onChange }: { metrics: Registry; onChange: () => void }) {
    this.permits = createLinePermits(concurrency);
    this.#metrics = metrics;
    this.#onChange = onChange;
  }

  /** Organizations whose lines wait for permits here: another process runs their next range sooner. */
  busyOrganizations(): string[] {
    return [...this.#waitingRanges.keys()];
  }

  /** Counts a range of an organization as waiting. Returns the function that ends that; it may be called again. */
  rangeWaits(organizationId: string): () => void {
    add(this.#waitingRanges, organizationId, 1);
    let isWaiting = true;
    return () => {
      if (!isWaiting) return;
      isWaiting = false;
      add(this.#waitingRanges, organizationId, -1);
      this.#onChange();
    };
  }

  /**
   * Whether this process may start a range of the batch. Lines that wait for retries hold no permit: without this
   * bound, an outage of their engine would use up the attempts of all lines of the batch.
   */
  hasRoom(batchId: string): boolean {
    return (this.#unfinished.get(batchId) ?? 0) <= this.permits.total;
  }

  /** Counts a line of a batch as unfinished. Returns the function that ends that. */
  addLine(batchId: string): () => void {
    if (!this.#ends.has(batchId)) this.#ends.set(batchId, batchMetrics(this.#metrics).stepStarted('in_progress'));
    add(this.#unfinished, batchId, 1);
    return () => {
      add(this.#unfinished, batchId, -1);
      if (this.#unfinished.has(batchId)) return;
      this.#ends.get(batchId)?.();
      this.#ends.delete(batchId);
    };
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
