import { and, eq, isNull, lt, sql } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { isRunning } from '../../leases/process-lease.ts';
import { idempotencyKeys } from './tables.ts';

export type IdempotencyRow = typeof idempotencyKeys.$inferSelect;

/** First use of an idempotency key. */
export interface KeyUse {
  organizationId: string;
  key: string;
  fingerprint: string;
  /** The process that runs the request. */
  processId: string;
  /** Time of the claim. A later claim of an abandoned key has another one, so that the late process changes nothing. */
  claimedAt: Date;
}

/**
 * Claims a key. Returns null for the first use, otherwise the row of the first use. The key of a process that has ended
 * without a response can be claimed again.
 */
export async function claimKey(db: Sql, use: KeyUse): Promise<IdempotencyRow | null> {
  const { claimedAt: createdAt, ...values } = use;
  const inserted = await db
    .insert(idempotencyKeys)
    .values({ ...values, createdAt })
    .onConflictDoUpdate({
      target: [idempotencyKeys.organizationId, idempotencyKeys.key],
      set: { fingerprint: use.fingerprint, processId: use.processId, createdAt },
      setWhere: sql`${idempotencyKeys.status} is null and not ${isRunning(sql`${idempotencyKeys.processId}`)}`,
    })
    .returning({ key: idempotencyKeys.key });
  if (inserted.length === 1) return null;
  const [row] = await db.select().from(idempotencyKeys).where(matchesKey(use));
  return row ?? null;
}

/** Stores the response to the first use, and its fingerprint, which is known only now for streamed bodies. */
export async function storeResponse(db: Sql, use: KeyUse, status: number, body: unknown): Promise<void> {
  await db
    .update(idempotencyKeys)
    .set({ status, fingerprint: use.fingerprint, body: sql`${JSON.stringify(body)}::jsonb` })
    .where(matchesClaim(use));
}

/** Releases the key of a first use without a stored response, so that the caller can retry. */
export async function releaseKey(db: Sql, use: KeyUse): Promise<void> {
  await db.delete(idempotencyKeys).where(and(matchesClaim(use), isNull(idempotencyKeys.status)));
}

/** Deletes keys first used before a time. */
export async function deleteKeysBefore(db: Sql, before: Date): Promise<void> {
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.createdAt, before));
}

/** Deletes all keys of an organization. */
export async function deleteKeysOfOrganization(db: Sql, organizationId: string): Promise<void> {
  await db.delete(idempotencyKeys).where(eq(idempotencyKeys.organizationId, organizationId));
}

function matchesKey(use: KeyUse) {
  return and(eq(idempotencyKeys.organizationId, use.organizationId), eq(idempotencyKeys.key, use.key));
}

function matchesClaim(use: KeyUse) {
  return and(matchesKey(use), eq(idempotencyKeys.createdAt, use.claimedAt));
}
