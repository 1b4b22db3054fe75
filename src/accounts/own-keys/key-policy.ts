import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import type { Call } from '../../lib/caller.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { viewLimits } from '../fields.ts';
import { requireKnowledgeBases } from '../keys/key-access.ts';
import { parseProperties } from '../keys/parse-properties.ts';
import type { KeyPolicy, UpdateKeyPolicy } from './schema.ts';
import { deleteKeyPolicy, type KeyPolicyRow, selectKeyPolicy, upsertKeyPolicy } from './store.ts';

/** Keys of a person unless the policy names a number. */
const DEFAULT_MAX_KEYS = 3;

/** Returns the policy of the caller's organization. */
export async function getKeyPolicy({ db }: Pick<Deps, 'db'>, { caller }: Call): Promise<KeyPolicy> {
  return viewKeyPolicy(await selectKeyPolicy(db.sql, caller.organizationId));
}

/**
 * Replaces the policy of the caller's organization; keys that exist stay as they are. Throws 400 and 404 as
 * `parseProperties` does.
 */
export async function updateKeyPolicy(deps: AccountAdminDeps, call: Call, body: UpdateKeyPolicy): Promise<KeyPolicy> {
  const { organizationId } = call.caller;
  const { enabled, max_keys: maxKeys = DEFAULT_MAX_KEYS, max_lifetime_seconds: lifetime = null, ...bounds } = body;
  const { models = null, knowledgeBaseIds = null, limits = null, budget = null } = parseProperties(deps, bounds);
  const row: KeyPolicyRow = {
    organizationId,
    maxKeys,
    maxLifetimeSeconds: lifetime,
    models: models && [...models],
    knowledgeBaseIds: knowledgeBaseIds && [...knowledgeBaseIds],
    limits,
    budget,
  };
  const policy = viewKeyPolicy(enabled ? row : null);
  await deps.db.sql.transaction(async (sql) => {
    await requireKnowledgeBases(deps, sql, { organizationId }, bounds.knowledge_base_ids);
    const before = viewKeyPolicy(await selectKeyPolicy(sql, organizationId));
    if (enabled) await upsertKeyPolicy(sql, row);
    else await deleteKeyPolicy(sql, organizationId);
    await recordChange(sql, toActor(call), {
      action: 'key_policy.updated',
      organizationId,
      resourceId: organizationId,
      changes: changedValues(before, policy),
    });
  });
  return policy;
}

function viewKeyPolicy(row: KeyPolicyRow | null): KeyPolicy {
  const { budget = null, limits = null } = row ?? {};
  return {
    object: 'key_policy',
    enabled: row !== null,
    max_keys: row?.maxKeys ?? 0,
    max_lifetime_seconds: row?.maxLifetimeSeconds ?? null,
    models: row?.models ?? null,
    knowledge_base_ids: row?.knowledgeBaseIds ?? null,
    limits: limits && viewLimits(limits),
    budget: budget && {
      period: budget.period,
      limit_micros: budget.limitMicros,
      soft_limit_micros: budget.softLimitMicros,
    },
  };
}
