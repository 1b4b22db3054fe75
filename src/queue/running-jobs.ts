import type { JobKind } from './define-job.ts';

/** The running jobs of one kind in this process, and its free slots. */
export class RunningJobs {
  readonly #kind: Pick<JobKind<object>, 'concurrency' | 'perGroup'>;
  readonly #runs = new Map<Promise<void>, string | null>();

  constructor(kind: Pick<JobKind<object>, 'concurrency' | 'perGroup'>) {
    this.#kind = kind;
  }

  /** Whether another job may start. */
  hasFreeSlot(): boolean {
    return this.#runs.size < this.#kind.concurrency;
  }

  /** Groups that use all of their slots. */
  fullGroups(): string[] {
    const { perGroup = Number.POSITIVE_INFINITY } = this.#kind;
    const counts = new Map<string, number>();
    for (const group of this.#runs.values()) if (group !== null) counts.set(group, (counts.get(group) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= perGroup).map(([group]) => group);
  }

  /** Occupies a slot until the run settles; resolves then. */
  async add(group: string | null, run: Promise<void>): Promise<void> {
    this.#runs.set(run, group);
    try {
      await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  /** Resolves when all runs have settled. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#runs.keys());
  }
}
