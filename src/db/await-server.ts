import type { Logger } from '../lib/logger.ts';
import { retry } from '../lib/retry.ts';
import { CANNOT_CONNECT_NOW } from './sql-states.ts';

const POLL_MS = 250;
/** How often the log says that the process still waits. */
const PROGRESS_MS = 10_000;

/**
 * Repeats `connect` while the server answers that it does not accept connections yet. There is no limit: crash recovery
 * may take many minutes, and a restart of this process would not shorten it. Throws every other error.
 */
export async function awaitServer(connect: () => Promise<unknown>, name: string, logger: Logger): Promise<void> {
  const startedAt = performance.now();
  let nextReportMs = 0;
  await retry(connect, {
    delaysMs: [POLL_MS],
    budgetMs: Number.POSITIVE_INFINITY,
    isPassing: (error) => (error as { code?: unknown }).code === CANNOT_CONNECT_NOW,
    onRetry: () => {
      const waitedMs = Math.round(performance.now() - startedAt);
      if (waitedMs < nextReportMs) return;
      nextReportMs = waitedMs + PROGRESS_MS;
      logger.warn({ waitedMs }, `waiting for the database: ${name} does not accept connections yet`);
    },
  });
}
