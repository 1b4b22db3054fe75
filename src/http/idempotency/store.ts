import { and, eq, lt, sql } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { idempotencyKeys } from './tables.ts';

export type IdempotencyRow = typeof idempotencyKeys.$inferSelect;

/** What identifies the first use of a key. */
export interface KeyUse {
  organizationId: string;
  key: string;
  fingerprint: string;
}

/** A first use without an answer after this time was lost with its process: its key may be claimed again. */
const ABANDONED_MS = 10 * 60 * 1000;

/** Claims the key: null when this is its first use, otherwise the row of the first use. */
export async function claimKey(db: Sql, use: KeyUse, createdAt: Date): Promise<IdempotencyRow | null> {
  const abandonedBefore = new Date(createdAt.getTime() - ABANDONED_MS);
  const inserted = await db
    .insert(idempotencyKeys)
    .values({ ...use, createdAt })
    .onConflictDoUpdate({
      target: [idempotencyKeys.organizationId, idempotencyKeys.key],
      set: { fingerprint: use.fingerprint, createdAt },
      setWhere: sql`${idempotencyKeys.status} is null and ${idempotencyKeys.createdAt} < ${abandonedBefore}`,
    })
    .returning({ key: idempotencyKeys.key });
  if (inserted.length === 1) return null;
  const [row] = await db.select().from(idempotencyKeys).where(isKey(use));
  return row ?? null;
}

/** Keeps the answer to the first use, and what it was sent: of a stream that is known only now. */
export async function keepAnswer(db: Sql, use: KeyUse, status: number, body: unknown): Promise<void> {
  await db
    .update(idempotencyKeys)
    .set({ status, fingerprint: use.fingerprint, body: sql`${JSON.stringify(body)}::jsonb` })
    .where(isKey(use));
}

/** Gives the key back: its first use failed and may be tried again. */
export async function releaseKey(db: Sql, use: KeyUse): Promise<void> {
  await db.delete(idempotencyKeys).where(isKey(use));
}

/** Forgets keys that were first used before then. */
export async function deleteKeysBefore(db: Sql, before: Date): Promise<void> {
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.createdAt, before));
}

function isKey(use: KeyUse) {
  return and(eq(idempotencyKeys.organizationId, use.organizationId), eq(idempotencyKeys.key, use.key));
}
