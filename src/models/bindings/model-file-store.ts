import { and, eq, exists, sql as expression, isNull, not } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { incrementVersion } from './store.ts';
import { modelBindings, modelFiles } from './tables.ts';

/** A bound model file. */
export interface StoredModelFile {
  /** Hexadecimal. */
  sha256: string;
  bytes: number;
  /** Null until its blob is complete. */
  storedAt: Date | null;
}

/** The blob of a model file; null when no process has begun to store it. */
export async function selectModelFile(sql: Sql, sha256: string): Promise<StoredModelFile | null> {
  const [row] = await sql.select().from(modelFiles).where(eq(modelFiles.sha256, sha256));
  return row ?? null;
}

/** Announces a blob before its bytes are stored, so that `takeUnboundFiles` finds what an ended process has begun. */
export async function insertModelFile(sql: Sql, file: Pick<StoredModelFile, 'sha256' | 'bytes'>): Promise<void> {
  await sql.insert(modelFiles).values(file).onConflictDoNothing();
}

/** Records that a blob is complete, which the other processes notice. Requires a transaction. */
export async function markModelFileStored(sql: Sql, sha256: string): Promise<void> {
  await sql.update(modelFiles).set({ storedAt: expression`now()` }).where(eq(modelFiles.sha256, sha256));
  await incrementVersion(sql, false);
}

/** Records that a blob is lost or damaged: a process that has the file stores it again. Requires a transaction. */
export async function markModelFileLost(sql: Sql, sha256: string): Promise<void> {
  await sql.update(modelFiles).set({ storedAt: null }).where(eq(modelFiles.sha256, sha256));
  await incrementVersion(sql, false);
}

/** Files that no binding names any more. */
export async function selectUnboundFiles(sql: Sql): Promise<string[]> {
  const rows = await sql.select({ sha256: modelFiles.sha256 }).from(modelFiles).where(isUnbound(sql));
  return rows.map(({ sha256 }) => sha256);
}

/** Deletes the row of a file if no binding names it. Returns whether it did. */
export async function deleteUnboundFile(sql: Sql, sha256: string): Promise<boolean> {
  const deleted = await sql
    .delete(modelFiles)
    .where(and(eq(modelFiles.sha256, sha256), isUnbound(sql)))
    .returning({ sha256: modelFiles.sha256 });
  return deleted.length > 0;
}

/** Adds the hash of a file to the bindings of that name that were stored without one. */
export async function insertMissingHash(sql: Sql, name: string, sha256: string): Promise<void> {
  await sql
    .update(modelBindings)
    .set({ modelSha256: sha256 })
    .where(and(eq(modelBindings.modelName, name), isNull(modelBindings.modelSha256)));
}

function isUnbound(sql: Sql) {
  const uses = sql.select().from(modelBindings).where(eq(modelBindings.modelSha256, modelFiles.sha256));
  return not(exists(uses));
}
