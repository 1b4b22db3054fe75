import { and, eq } from 'drizzle-orm';
import type { Database, Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { prepared } from '../db/prepared.ts';
import { guardrailPolicies } from './tables.ts';

export type PolicyRow = typeof guardrailPolicies.$inferSelect;

/** Adds a policy. */
export async function insertPolicy(sql: Sql, row: PolicyRow): Promise<void> {
  await sql.insert(guardrailPolicies).values(row);
}

/** The organization's policy of that id, or null. */
export async function selectPolicy(sql: Sql, organizationId: string, id: string): Promise<PolicyRow | null> {
  const [row] = await sql.select().from(guardrailPolicies).where(isPolicy(organizationId, id));
  return row ?? null;
}

/** The same, locked against other writers until the transaction ends. */
export async function lockPolicy(sql: Sql, organizationId: string, id: string): Promise<PolicyRow | null> {
  const [row] = await sql.select().from(guardrailPolicies).where(isPolicy(organizationId, id)).for('update');
  return row ?? null;
}

/** The organization's policies. */
export function selectPolicies(
  sql: Sql,
  organizationId: string,
  bounds: PageBounds,
  order?: 'asc' | 'desc',
): Promise<PolicyRow[]> {
  const { isAfter, orderBy } = pageOrder(guardrailPolicies.id, bounds, order);
  return sql
    .select()
    .from(guardrailPolicies)
    .where(and(eq(guardrailPolicies.organizationId, organizationId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Replaces the fields that a caller may change. */
export async function updatePolicyRow(sql: Sql, { id, ...fields }: PolicyRow): Promise<void> {
  await sql.update(guardrailPolicies).set(fields).where(eq(guardrailPolicies.id, id));
}

/** Deletes a policy. False: the organization has none of that id. */
export async function deletePolicyRow(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const deleted = await sql
    .delete(guardrailPolicies)
    .where(isPolicy(organizationId, id))
    .returning({ id: guardrailPolicies.id });
  return deleted.length > 0;
}

/** What decides about the calls of an organization. */
export type ActivePolicyRow = Pick<
  PolicyRow,
  'id' | 'blockOnFlag' | 'thresholds' | 'topicDenyList' | 'matchConfusables' | 'applyTo'
> & {
  /** Changes with every update. */
  version: string;
};

/** Read once a second by every organization that makes calls, so it is prepared. Ids are in the order of creation. */
const selectNewestEnabled = prepared(
  'select_active_policy',
  `select id, block_on_flag as "blockOnFlag", thresholds, topic_deny_list as "topicDenyList",
    match_confusables as "matchConfusables", apply_to as "applyTo", updated_at::text as version
  from guardrail_policies where organization_id = $1 and enabled order by id desc limit 1`,
);

/** The organization's newest enabled policy, or null. */
export async function selectActivePolicy(db: Database, organizationId: string): Promise<ActivePolicyRow | null> {
  const [row] = await selectNewestEnabled(db, organizationId);
  return (row as ActivePolicyRow | undefined) ?? null;
}

function isPolicy(organizationId: string, id: string) {
  return and(eq(guardrailPolicies.organizationId, organizationId), eq(guardrailPolicies.id, id));
}
