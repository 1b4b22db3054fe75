import { selectApiKey } from '../../accounts/store.ts';
import { SERVICE_ACTOR } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { OPERATOR } from '../../lib/caller.ts';
import { selectMember, selectUser } from '../store.ts';

/** Creators who lose no rights: commands of the operator, and the first start. */
const PERMANENT: ReadonlySet<string> = new Set([OPERATOR.keyId, SERVICE_ACTOR.id]);

/**
 * Whether the creator of a link (a user, a key, commands or the service) may still manage people of an organization; of
 * every organization when it is null. Links outlive the requests that create them: without this check, a removed owner
 * returns by an own invitation.
 */
export async function isCreatorEntitled(
  sql: Sql,
  createdBy: string,
  organizationId: string | null,
  now: Date,
): Promise<boolean> {
  if (PERMANENT.has(createdBy) || (await selectUser(sql, createdBy))?.isOperator === true) return true;
  if (organizationId !== null && (await selectMember(sql, organizationId, createdBy))?.role === 'owner') return true;
  const key = await selectApiKey(sql, createdBy);
  const isActive = key !== null && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
  return isActive && key.scopes.includes('admin');
}
