import { sql } from 'drizzle-orm';
import type { Database } from '../db/db.ts';
import { minIdAt } from '../lib/ids.ts';

/** Milliseconds of a day. */
const DAY_MS = 86_400_000;
/** Partitions are created this many days ahead, so that a process whose database was down for a day needs none. */
const DAYS_AHEAD = 2;
/** Requests that began before midnight end after it, and those of the background run for hours. */
const DAYS_BEHIND = 1;
/** Interval at which a process ensures that future partitions exist. Shorter than the time that they cover. */
export const PREPARE_MS = DAY_MS;
/** Lock of the task that changes partitions. */
const LOCK = 'request log partitions';
/** Readers and writers queue behind a statement that waits for its lock. The next run of the task tries again. */
const LOCK_TIMEOUT = sql`set local lock_timeout = '2s'`;

type PartitionDeps = Pick<Database, 'sql' | 'withLock'>;

/** Tables that are partitioned by request id. */
export type RequestTable = 'request_log' | 'request_contents';

/** The name of the partition of the UTC day that begins at `start`, in milliseconds since 1970. */
const partitionName = (table: RequestTable, start: number): string =>
  `${table}_${new Date(start).toISOString().slice(0, 'YYYY-MM-DD'.length).replaceAll('-', '')}`;

/** The beginning of the day of a partition, in milliseconds since 1970. */
function partitionStart(name: string): number {
  const [, year, month, day] = /^request_[a-z]+_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`);
}

async function listPartitions(db: PartitionDeps, table: RequestTable): Promise<string[]> {
  const { rows } = (await db.sql.execute(sql`select relname as name from pg_inherits join pg_class
    on pg_class.oid = inhrelid where inhparent = ${table}::regclass`)) as unknown as { rows: { name: string }[] };
  return rows.map(({ name }) => name).filter((name) => !Number.isNaN(partitionStart(name)));
}

/** Creates the partitions of the days around `now` that are missing. Safe in several processes at once. */
export async function createPartitions(db: PartitionDeps, table: RequestTable, now: number): Promise<void> {
  const today = now - (now % DAY_MS);
  const days = Array.from({ length: DAYS_BEHIND + 1 + DAYS_AHEAD }, (_, day) => today + (day - DAYS_BEHIND) * DAY_MS);
  const missing = async () => {
    const existing = new Set(await listPartitions(db, table));
    return days.filter((start) => !existing.has(partitionName(table, start)));
  };
  if ((await missing()).length === 0) return;
  await db.withLock(LOCK, async () => {
    for (const start of await missing()) {
      const name = partitionName(table, start);
      const bounds = `from ('${minIdAt('request', start)}') to ('${minIdAt('request', start + DAY_MS)}')`;
      // Attaching takes a weaker lock than `create table ... partition of`.
      await db.sql.transaction(async (transaction) => {
        await transaction.execute(sql.raw(`create table ${name} (like ${table} including all)`));
        await transaction.execute(sql.raw(`alter table ${table} attach partition ${name} for values ${bounds}`));
      });
    }
  });
}

/** Drops the partitions of days before `time`. May run in several processes at once. */
export async function dropPartitions(db: PartitionDeps, table: RequestTable, time: number): Promise<void> {
  const isOld = (name: string) => partitionStart(name) + DAY_MS <= time;
  if (!(await listPartitions(db, table)).some(isOld)) return;
  await db.withLock(LOCK, async () => {
    for (const name of (await listPartitions(db, table)).filter(isOld))
      await db.sql.transaction(async (transaction) => {
        await transaction.execute(LOCK_TIMEOUT);
        await transaction.execute(sql.raw(`drop table ${name}`));
      });
  });
}
