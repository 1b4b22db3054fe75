import type { JobKind } from './define-job.ts';

/** The jobs of a kind that a process runs, and whether it may run more. */
export class RunningJobs {
  readonly #kind: Pick<JobKind<object>, 'concurrency' | 'perGroup'>;
  readonly #runs = new Map<Promise<void>, string | null>();

  constructor(kind: Pick<JobKind<object>, 'concurrency' | 'perGroup'>) {
    this.#kind = kind;
  }

  /** Whether one more may run. */
  hasRoom(): boolean {
    return this.#runs.size < this.#kind.concurrency;
  }

  /** Groups of which no more may run. */
  fullGroups(): string[] {
    const { perGroup = Number.POSITIVE_INFINITY } = this.#kind;
    const counts = new Map<string, number>();
    for (const group of this.#runs.values()) if (group !== null) counts.set(group, (counts.get(group) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= perGroup).map(([group]) => group);
  }

  /** Counts a run until it has ended; resolves then. */
  async add(group: string | null, run: Promise<void>): Promise<void> {
    this.#runs.set(run, group);
    try {
      await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  /** Resolves when none runs any more. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#runs.keys());
  }
}
