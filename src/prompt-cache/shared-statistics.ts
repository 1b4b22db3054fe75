import { randomUUID } from 'node:crypto';
import type { Database } from '../db/db.ts';
import type { Logger } from '../lib/logger.ts';
import { type PeriodicTask, runPeriodically } from '../lib/run-periodically.ts';
import { type CacheCounters, toStatistics } from './cache-counters.ts';
import type { CacheStatistics } from './schema.ts';
import {
  deleteCounts,
  deleteExpiredCounts,
  resetCounts,
  selectOtherCounts,
  selectResets,
  upsertCounts,
} from './store.ts';

/** Counts of other processes are at most this old. Nothing is written while they do not change. */
const PUBLISH_MS = 1_000;
/** Unchanged counts are rewritten after this time, as a heartbeat of the process. */
const KEEP_ALIVE_MS = 20_000;

/** Dependencies of the statistics. */
export interface SharedStatisticsDeps {
  db: Pick<Database, 'sql' | 'listen'>;
  counters: CacheCounters;
  logger: Logger;
  /** Returns Unix milliseconds. */
  now(): number;
}

/**
 * Prompt cache statistics of all processes on one database: each publishes its counts in a row of its own. Counts end with their process;
 * the usage records keep them.
 */
export class SharedStatistics {
  readonly #deps: SharedStatisticsDeps;
  readonly #processId = randomUUID();
  readonly #publishing: PeriodicTask;
  readonly #unlisten: () => void;
  #published = '';
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #resets = 0;

  /** Publishes until `stop()`. */
  constructor(deps: SharedStatisticsDeps) {
    this.#deps = deps;
    this.#publishing = runPeriodically(PUBLISH_MS, 'publish cache statistics', () => this.#publish(), deps.logger);
    const onReset = () => {
      this.#published = '';
      this.#publishing.trigger();
    };
    this.#unlisten = deps.db.listen('quire_prompt_cache', { onNotification: onReset, onGap: onReset });
  }

  /** The sums over all running processes; `uptime_seconds` of the process that counts for the longest time. */
  async read(): Promise<CacheStatistics> {
    const { db, counters, now } = this.#deps;
    return toStatistics([counters.counts(), ...(await selectOtherCounts(db.sql, this.#processId))], now());
  }

  /** Resets the counters of all processes and returns the statistics. Does not clear the caches. */
  async reset(): Promise<CacheStatistics> {
    const { db, counters } = this.#deps;
    await db.sql.transaction((sql) => resetCounts(sql));
    this.#resets = await selectResets(db.sql, this.#processId);
    counters.reset();
    return this.read();
  }

  /** Removes the counts of this process. */
  async stop(): Promise<void> {
    this.#unlisten();
    await this.#publishing.stop();
    await deleteCounts(this.#deps.db.sql, this.#processId);
  }

  async #publish(): Promise<void> {
    const { db, counters } = this.#deps;
    const isDue = performance.now() - this.#publishedAtMs >= KEEP_ALIVE_MS;
    if (!isDue && JSON.stringify(counters.counts()) === this.#published) return;
    const counts = counters.counts();
    if (await upsertCounts(db.sql, this.#processId, counts, this.#resets)) {
      this.#published = JSON.stringify(counts);
      this.#publishedAtMs = performance.now();
    } else {
      // Another process has reset the statistics.
      this.#resets = await selectResets(db.sql, this.#processId);
      counters.reset();
    }
    if (isDue) await deleteExpiredCounts(db.sql);
  }
}
