import { changedFields, recordChange, toActor } from '../audit/record-change.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { MODERATION_CATEGORIES } from '../engines/moderation-engine.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { isId, newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { normalizeText } from './normalize-text.ts';
import { DEFAULT_THRESHOLD, resolveThresholds, type Thresholds } from './policy.ts';
import type { CreatePolicy, GuardrailPolicy, PolicyListQuery, UpdatePolicy } from './schema.ts';
import {
  deletePolicyRow,
  insertPolicy,
  lockPolicy,
  type PolicyRow,
  selectPolicies,
  selectPolicy,
  updatePolicyRow,
} from './store.ts';
import type { TopicRule } from './topic-matcher.ts';

/** Dependencies of the policies' CRUD. */
export type PolicyDeps = Pick<Deps, 'db' | 'now'>;

/** Creates a policy with all fields resolved. Throws 400 for blank names and topics. */
export async function createPolicy(deps: PolicyDeps, call: Call, body: CreatePolicy): Promise<GuardrailPolicy> {
  const { organizationId } = call.caller;
  const now = new Date(deps.now());
  const row: PolicyRow = {
    id: newId('guardrailPolicy'),
    organizationId,
    name: requireName(body.name),
    enabled: body.enabled ?? true,
    blockOnFlag: body.block_on_flag ?? true,
    thresholds: resolveThresholds(requireCategories(body.thresholds ?? {})),
    topicDenyList: requireTopics(body.topic_deny_list ?? []),
    matchConfusables: body.match_confusables ?? false,
    applyTo: body.apply_to ?? ['input'],
    createdAt: now,
    updatedAt: now,
  };
  await deps.db.sql.transaction(async (sql) => {
    await insertPolicy(sql, row);
    const action = 'guardrail_policy.created';
    await recordChange(sql, toActor(call), { action, organizationId, resourceId: row.id });
  });
  return viewPolicy(row);
}

/** A policy of the organization. Throws 404 `guardrail_policy_not_found`. */
export async function findPolicy(deps: Pick<Deps, 'db'>, organizationId: string, id: string): Promise<PolicyRow> {
  const row = isId('guardrailPolicy', id) ? await selectPolicy(deps.db.sql, organizationId, id) : null;
  if (row === null) throw policyNotFound(id);
  return row;
}

/** A page of the organization's policies. */
export async function listPolicies(deps: Pick<Deps, 'db'>, organizationId: string, query: PolicyListQuery) {
  const bounds = pageBounds(query, 'guardrailPolicy');
  const rows = await selectPolicies(deps.db.sql, organizationId, bounds, query.order);
  return page(rows.map(viewPolicy), bounds.limit);
}

/** Changes the fields that `body` has. Throws 404 `guardrail_policy_not_found`, and 400 as `createPolicy` does. */
export async function updatePolicy(
  deps: PolicyDeps,
  call: Call,
  id: string,
  body: UpdatePolicy,
): Promise<GuardrailPolicy> {
  const { organizationId } = call.caller;
  return deps.db.sql.transaction(async (sql) => {
    const row = isId('guardrailPolicy', id) ? await lockPolicy(sql, organizationId, id) : null;
    if (row === null) throw policyNotFound(id);
    const changed: PolicyRow = {
      ...row,
      name: body.name === undefined ? row.name : requireName(body.name),
      enabled: body.enabled ?? row.enabled,
      blockOnFlag: body.block_on_flag ?? row.blockOnFlag,
      thresholds: mergeThresholds(row.thresholds, requireCategories(body.thresholds ?? {})),
      topicDenyList: body.topic_deny_list === undefined ? row.topicDenyList : requireTopics(body.topic_deny_list),
      matchConfusables: body.match_confusables ?? row.matchConfusables,
      applyTo: body.apply_to ?? row.applyTo,
      updatedAt: new Date(deps.now()),
    };
    await updatePolicyRow(sql, changed);
    const action = 'guardrail_policy.updated';
    const changes = changedFields(viewPolicy(row), viewPolicy(changed));
    await recordChange(sql, toActor(call), { action, organizationId, resourceId: id, changes });
    return viewPolicy(changed);
  });
}

/** Deletes a policy. Throws 404 `guardrail_policy_not_found`. */
export async function deletePolicy(deps: Pick<Deps, 'db'>, call: Call, id: string) {
  const { organizationId } = call.caller;
  await deps.db.sql.transaction(async (sql) => {
    const isDeleted = isId('guardrailPolicy', id) && (await deletePolicyRow(sql, organizationId, id));
    if (!isDeleted) throw policyNotFound(id);
    await recordChange(sql, toActor(call), { action: 'guardrail_policy.deleted', organizationId, resourceId: id });
  });
  return { id, object: 'guardrail_policy', deleted: true } as const;
}

/** A null sets a threshold back to the default. */
function mergeThresholds(thresholds: Thresholds, changes: NonNullable<UpdatePolicy['thresholds']>): Thresholds {
  const set = Object.entries(changes).map(([category, value]) => [category, value ?? DEFAULT_THRESHOLD]);
  return { ...thresholds, ...Object.fromEntries(set) };
}

/** A misspelt category would leave texts unscreened. */
function requireCategories<T extends object>(thresholds: T): T {
  const unknown = Object.keys(thresholds).find((name) => !MODERATION_CATEGORIES.some((category) => category === name));
  if (unknown === undefined) return thresholds;
  throw invalidValue(`thresholds.${unknown}`, `is not a category: ${MODERATION_CATEGORIES.join(', ')}`);
}

function requireName(name: string): string {
  requireText(name, 'name');
  return name;
}

/** A topic of invisible characters would match nothing. */
function requireTopics(topics: readonly TopicRule[]): TopicRule[] {
  topics.forEach(({ topic }, index) => {
    requireText(topic, `topic_deny_list.${index}.topic`);
    requireText(normalizeText(topic), `topic_deny_list.${index}.topic`);
  });
  return topics.map(({ topic, action }) => ({ topic, action }));
}

/** The database cannot hold NUL characters. */
function requireText(text: string, param: string): void {
  if (text.trim() === '') throw invalidValue(param, 'must not be blank');
  if (text.includes('\u0000')) throw invalidValue(param, 'must not contain NUL characters');
}

const policyNotFound = (id: string) => notFound('guardrail_policy', id, 'policy_id');

/** A policy as the API shows it. */
export function viewPolicy(row: PolicyRow): GuardrailPolicy {
  return {
    id: row.id,
    object: 'guardrail_policy',
    name: row.name,
    enabled: row.enabled,
    block_on_flag: row.blockOnFlag,
    thresholds: row.thresholds,
    topic_deny_list: row.topicDenyList,
    match_confusables: row.matchConfusables,
    apply_to: row.applyTo,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}
