import { and, asc, count, eq, gt, gte, like, lte, sum } from 'drizzle-orm';
import type { Database, Sql } from '../db/db.ts';
import { files } from '../files/tables.ts';

/** Content of an uploaded file: its key in the blob store, its SHA-256 and its size. */
export type ArchivedContent = Pick<typeof files.$inferSelect, 'id' | 'blobKey' | 'sha256' | 'bytes'>;

const CONTENT = { id: files.id, blobKey: files.blobKey, sha256: files.sha256, bytes: files.bytes };

/** Selects blobs of files of all organizations in pages by file id, optionally of files created within a period. */
export function selectContents(
  sql: Sql,
  page: { since?: Date; until?: Date; after: string; limit: number },
): Promise<ArchivedContent[]> {
  return sql
    .select(CONTENT)
    .from(files)
    .where(
      and(
        gt(files.id, page.after),
        page.since && gte(files.createdAt, page.since),
        page.until && lte(files.createdAt, page.until),
      ),
    )
    .orderBy(asc(files.id))
    .limit(page.limit);
}

/** Distinct contents of files of all organizations whose hash begins with `prefix`, in the order of their hashes. */
export function selectContentsByHash(sql: Sql, prefix: string): Promise<ArchivedContent[]> {
  return sql
    .selectDistinctOn([files.sha256], CONTENT)
    .from(files)
    .where(like(files.sha256, `${prefix}%`))
    .orderBy(asc(files.sha256));
}

/** Number and size of all files. */
export async function sumContents(sql: Sql): Promise<{ count: number; bytes: number }> {
  const [row] = await sql.select({ count: count(), bytes: sum(files.bytes) }).from(files);
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

/** Whether a file of any organization has this content. */
export async function isContentUsed(sql: Sql, sha256: string): Promise<boolean> {
  return (await sql.$count(files, eq(files.sha256, sha256))) > 0;
}

/** Identity of the database cluster, from `initdb` on; equal after a restore. */
export async function selectSystem({ execute }: Pick<Database, 'execute'>): Promise<string> {
  return readColumn(await execute('select system_identifier::text as value from pg_control_system()'));
}

/** Begins a base backup, with a checkpoint at once. It ends with the session. */
export async function startBaseBackup(
  { execute }: Pick<Database, 'execute'>,
  label: string,
): Promise<{ firstSegment: string; timeline: number }> {
  const { rows } = await execute(
    `select pg_walfile_name(lsn) as "firstSegment", timeline_id as timeline
     from pg_backup_start($1, true) as lsn, pg_control_checkpoint()`,
    [label],
  );
  return rows[0] as { firstSegment: string; timeline: number };
}

/** What PostgreSQL returns at the end of a base backup. */
export interface StoppedBackup {
  lastSegment: string;
  /** Content of the file `backup_label`. */
  label: string;
  /** Content of the file `tablespace_map`; empty without tablespaces. */
  tablespaces: string;
  /** Unix milliseconds, rounded up. */
  nowMs: number;
}

/** Ends a base backup. Does not wait until the WAL is archived. */
export async function stopBaseBackup({ execute }: Pick<Database, 'execute'>): Promise<StoppedBackup> {
  const { rows } = await execute(
    `select pg_walfile_name(lsn) as "lastSegment", labelfile as label, spcmapfile as tablespaces,
       ceil(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
     from pg_backup_stop(false)`,
  );
  return rows[0] as StoppedBackup;
}

/** Completes the current WAL segment, so that it can be archived. */
export async function switchWal({ execute }: Pick<Database, 'execute'>): Promise<void> {
  await execute('select pg_switch_wal()');
}

const readColumn = ({ rows }: { rows: unknown[] }): string => (rows[0] as { value: string }).value;
