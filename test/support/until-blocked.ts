import type { Database } from '../../src/db/db.ts';
import { until } from '../spawned-service.ts';

/**
 * Resolves when a transaction of the database waits for a lock of another one, or when `task` has ended without such a
 * wait.
 */
export async function untilBlocked(db: Pick<Database, 'execute'>, task: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  task.then(end, end);
  await until(async () => {
    if (hasEnded) return true;
    const { rows } = await db.execute(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  });
}
