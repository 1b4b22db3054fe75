import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { page } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { insufficientScope, notFound } from '../../errors.ts';
import type { Call, KeyBudget } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { addKey } from '../add-key.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { DEFAULT_SCOPES } from '../keys/create-key.ts';
import { type Manager, requireGrantable, requireKnowledgeBases } from '../keys/key-access.ts';
import { parseProperties } from '../keys/parse-properties.ts';
import type { ApiKey, ApiKeyWithSecret } from '../keys/schema.ts';
import { keyProperties, viewKey } from '../keys/view-key.ts';
import { lockApiKey, lockOrganization, updateApiKey } from '../store.ts';
import type { CreateOwnKey } from './schema.ts';
import { countOwnKeys, type KeyOwner, type KeyPolicyRow, selectKeyPolicy, selectOwnKeys } from './store.ts';

/** Keys in the list: a person has a few, and revoked ones stay. */
const MAX_LISTED = 100;

/** The keys that the caller has made, newest first. API keys have none. */
export async function listOwnKeys(deps: Pick<Deps, 'db' | 'config' | 'now'>, call: Call) {
  const rows = await selectOwnKeys(deps.db.sql, toOwner(call), MAX_LISTED);
  return page(
    rows.map((row) => viewKey(row, deps)),
    MAX_LISTED,
  );
}

/**
 * Creates a key of the caller within the policy of the organization and returns it with its secret, which is not
 * stored. Throws 403 without a policy, for rights beyond it, for too many keys and for API keys; 400 and 404 as
 * `parseProperties` does.
 */
export async function createOwnKey(deps: AccountAdminDeps, call: Call, body: CreateOwnKey): Promise<ApiKeyWithSecret> {
  const owner = requirePerson(call);
  const { organizationId, userId } = owner;
  const requested = parseProperties(deps, body);
  return deps.db.sql.transaction(async (sql) => {
    // Of two requests at one moment, the second one counts the key of the first one.
    await lockOrganization(sql, organizationId);
    const policy = await selectKeyPolicy(sql, organizationId);
    if (policy === null) throw insufficientScope('Your organization does not let people make keys of their own.');
    const count = await countOwnKeys(sql, owner, countedSince(policy.budget, deps.now()));
    if (count >= policy.maxKeys) throw insufficientScope(describeTooMany(policy));
    await requireKnowledgeBases(deps, sql, { organizationId }, body.knowledge_base_ids);
    const manager = toManager(call, policy, deps.now());
    const properties = { ...manager.own, name: 'key', ...requested };
    requireGrantable(deps, manager, properties);
    const { row, secret } = await addKey(sql, { organizationId, ownerId: userId, ...properties });
    const changes = changedValues({}, keyProperties(row));
    await recordChange(sql, toActor(call), { action: 'api_key.created', organizationId, resourceId: row.id, changes });
    return { ...viewKey(row, deps), key: secret };
  });
}

/** Revokes a key of the caller. May be called twice. Throws 404 `api_key_not_found` for keys of others. */
export async function revokeOwnKey(deps: AccountAdminDeps, call: Call, id: string): Promise<ApiKey> {
  const { organizationId, userId } = toOwner(call);
  const revoked = await deps.db.sql.transaction(async (sql) => {
    const row = isId('apiKey', id) ? await lockApiKey(sql, id) : null;
    if (row === null || row.organizationId !== organizationId || row.ownerId !== userId)
      throw notFound('api_key', id, 'key_id');
    if (row.revokedAt !== null) return row;
    const changes = { revokedAt: new Date(deps.now()) };
    await updateApiKey(sql, id, changes);
    await recordChange(sql, toActor(call), { action: 'api_key.revoked', organizationId, resourceId: id });
    return { ...row, ...changes };
  });
  deps.evictKeys(id);
  return viewKey(revoked, deps);
}

/** The caller as a person. Throws 403 `insufficient_scope` for API keys, which belong to nobody. */
function requirePerson(call: Call): KeyOwner {
  if (call.caller.role === undefined)
    throw insufficientScope('Only people who are signed in to the console have own keys.');
  return toOwner(call);
}

const toOwner = ({ caller }: Call): KeyOwner => ({ organizationId: caller.organizationId, userId: caller.keyId });

/** The policy as the rights of the caller, within which keys are created. */
function toManager({ caller }: Call, policy: KeyPolicyRow, now: number) {
  const { models, knowledgeBaseIds, limits, budget, maxLifetimeSeconds } = policy;
  const expiresAt = maxLifetimeSeconds === null ? null : new Date(now + maxLifetimeSeconds * 1000);
  const scopes = DEFAULT_SCOPES.filter((scope) => caller.scopes.has(scope));
  return {
    isAdmin: false as const,
    name: 'A key of your own',
    own: { scopes, models, knowledgeBaseIds, limits, budget, expiresAt },
  } satisfies Manager;
}

/** With a budget, a key that was revoked in its period counts until the next one: a new key would spend it again. */
function countedSince(budget: KeyBudget | null, now: number): Date {
  if (budget === null) return new Date(now);
  if (budget.period === 'total') return new Date(0);
  const start = new Date(now);
  start.setUTCHours(0, 0, 0, 0);
  if (budget.period === 'month') start.setUTCDate(1);
  return start;
}

function describeTooMany({ maxKeys, budget }: KeyPolicyRow): string {
  const revoked = budget === null ? '' : ', with those that were revoked or expired in the period of the budget';
  return `You have ${maxKeys} keys of your own${revoked}, which is the limit of your organization.`;
}
