import { and, eq, lt } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { minIdAt } from '../lib/ids.ts';
import { guardrailBlocks } from './tables.ts';

/** A blocked input or output. */
export type BlockRow = typeof guardrailBlocks.$inferSelect;

/** Adds a block. */
export async function insertBlock(sql: Sql, row: BlockRow): Promise<void> {
  await sql.insert(guardrailBlocks).values(row);
}

/** Conditions on blocks and their order. `policyId`: absent selects the blocks of all policies. */
export interface BlockFilter {
  organizationId: string;
  policyId?: string | undefined;
  order?: 'asc' | 'desc' | undefined;
}

/** Selects blocks of the organization. */
export function selectBlocks(
  sql: Sql,
  { organizationId, policyId, order }: BlockFilter,
  bounds: PageBounds,
): Promise<BlockRow[]> {
  const { isAfter, orderBy } = pageOrder(guardrailBlocks.id, bounds, order);
  const isOfPolicy = policyId === undefined ? undefined : eq(guardrailBlocks.policyId, policyId);
  return sql
    .select()
    .from(guardrailBlocks)
    .where(and(eq(guardrailBlocks.organizationId, organizationId), isOfPolicy, isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Deletes the blocks before `time` (milliseconds since 1970). */
export async function deleteBlocksBefore(sql: Sql, time: number): Promise<void> {
  await sql.delete(guardrailBlocks).where(lt(guardrailBlocks.id, minIdAt('guardrailBlock', time)));
}

/** Deletes the blocks of an organization. */
export async function deleteBlocksOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(guardrailBlocks).where(eq(guardrailBlocks.organizationId, organizationId));
}
