import { FailedStatement } from '../db/failed-statement.ts';
import type { Deps } from '../deps.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import { type RetryPolicy, retry } from '../lib/retry.ts';
import { settleAll } from '../lib/settle-all.ts';
import { releaseCredits } from '../lib/usage-record.ts';
import { clearUnrecordedUsage, type LineResult, saveResults, selectUnrecordedUsage } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import type { RangeRun } from './range-store.ts';

/** Dependencies of `ResultWriter`. */
export type ResultWriterDeps = Pick<Deps, 'db' | 'metrics' | 'recordUsage'>;

/** Results of one statement. */
const MAX_RESULTS = 128;
/** Bytes of their response bodies; as many wait for the statement in flight. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Backoff while the database is unavailable, as during a restart of the embedded one. */
const DATABASE_OUTAGE: RetryPolicy = {
  delaysMs: [100, 500, 2_000, 5_000],
  isPassing: (error) => error instanceof FailedStatement && error.isUnavailable,
};
/** Lines of one read of the outbox. */
const OUTBOX_LINES = 500;

/**
 * Stores the results of the lines of one run of a range with group commit, then their usage in the ledger. A result and
 * its usage are stored by one statement (outbox), so a crash between line and ledger neither repeats nor forgets a
 * billed call.
 */
export class ResultWriter {
  readonly #deps: ResultWriterDeps;
  readonly #run: RangeRun;
  readonly #results = new GroupCommit<LineResult>({
    write: (results) => this.#write(results),
    weight: ({ body }) => Math.max(1 / MAX_RESULTS, body.length / MAX_BYTES),
    maxWeight: 1,
    // Lines that end together share a statement.
    delayMs: 0,
    stopsOnFailure: true,
    onFailure: (results) => {
      for (const { usage } of results) releaseCredits(usage);
    },
  });

  constructor(deps: ResultWriterDeps, run: RangeRun) {
    this.#deps = deps;
    this.#run = run;
  }

  /** Accepts a result. Waits while too many are pending. Throws when results could not be stored. */
  add(result: LineResult): Promise<void> {
    return this.#results.addWithBackpressure(result);
  }

  /** Resolves when all results and their usage are durable. Throws when they could not be stored. */
  flush(): Promise<void> {
    return this.#results.flush();
  }

  async #write(results: readonly LineResult[]): Promise<void> {
    const { db, recordUsage } = this.#deps;
    const saved = await retry(() => saveResults(db, this.#run, results), DATABASE_OUTAGE);
    this.#count(results.filter(({ line }) => saved.has(line)));
    for (const { line, usage } of results) if (!saved.has(line)) releaseCredits(usage);
    const billed = results.filter(({ line, usage }) => saved.has(line) && usage.length > 0);
    if (billed.length === 0) return;
    await settleAll(
      billed.flatMap(({ usage }) => usage.map(({ record, reservation }) => recordUsage(record, reservation))),
    );
    const lines = billed.map(({ line }) => line);
    await retry(() => clearUnrecordedUsage(db.sql, this.#run.batchId, lines), DATABASE_OUTAGE);
  }

  #count(results: readonly LineResult[]): void {
    const metrics = batchMetrics(this.#deps.metrics);
    const completed = results.filter(({ status }) => status === 'completed').length;
    metrics.linesEnded('completed', completed);
    metrics.linesEnded('failed', results.length - completed);
  }
}

/** Records usage that an ended process left in the outbox of a batch, or of some lines, unless the ledger has it. */
export async function recordLeftUsage(
  { db, recordUsage }: Pick<ResultWriterDeps, 'db' | 'recordUsage'>,
  batchId: string,
  of?: readonly number[],
): Promise<void> {
  for (;;) {
    const { lines, records } = await selectUnrecordedUsage(db.sql, { batchId, of }, OUTBOX_LINES);
    if (lines.length === 0) return;
    await Promise.all(records.map((record) => recordUsage(record, null)));
    await clearUnrecordedUsage(db.sql, batchId, lines);
  }
}
