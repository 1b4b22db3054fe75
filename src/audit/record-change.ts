import { isDeepStrictEqual } from 'node:util';
import type { Sql } from '../db/db.ts';
import { type Call, OPERATOR } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { insertEvent } from './store.ts';
import type { FieldChange } from './tables.ts';

/** Audited actions: the type of the resource, and what happened to it. */
export const AUDIT_ACTIONS = [
  'organization.created',
  'organization.updated',
  'organization.deleted',
  'request_contents.deleted',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'key_policy.updated',
  'credit.set',
  'credit.adjusted',
  'guardrail_policy.created',
  'guardrail_policy.updated',
  'guardrail_policy.deleted',
  'knowledge_base.created',
  'knowledge_base.updated',
  'knowledge_base.deleted',
  'data_source.created',
  'data_source.updated',
  'data_source.deleted',
  'mcp_server.created',
  'mcp_server.updated',
  'mcp_server.deleted',
  'chat_preset.created',
  'chat_preset.updated',
  'chat_preset.deleted',
  'alert_channel.created',
  'alert_channel.updated',
  'alert_channel.deleted',
  'budget.created',
  'budget.updated',
  'budget.deleted',
  'model_binding.updated',
  'upstream.created',
  'upstream.updated',
  'upstream.deleted',
  'model.loaded',
  'model.unloaded',
  'model_file.deleted',
  'model_pull.started',
  'invitation.created',
  'invitation.deleted',
  'member.added',
  'member.updated',
  'member.removed',
  'user.password_changed',
  'user.password_reset_created',
  'user.identity_linked',
  'user.identity_unlinked',
  'user.made_operator',
] as const;

/** One of `AUDIT_ACTIONS`. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who makes a change, and from where. */
export interface Actor {
  /** The id of a key or user, `cli` or `service`. */
  id: string;
  /** Address of the socket; null for commands and the service. */
  address: string | null;
  requestId: string | null;
}

/** The service itself, such as during the first start. */
export const SERVICE_ACTOR: Actor = { id: 'service', address: null, requestId: null };

/** The actor of a request. Commands have no address. */
export function toActor({ caller, address, requestId }: Call): Actor {
  return { id: caller.keyId, address: caller === OPERATOR ? null : (address ?? null), requestId };
}

/** A change of one resource. */
export interface Change {
  action: AuditAction;
  /** The organization that owns the resource; empty for resources of the instance. */
  organizationId: string;
  resourceId: string;
  changes?: FieldChange[];
}

/** Records a change. `sql` is the transaction of the change: both are committed, or neither. */
export async function recordChange(sql: Sql, actor: Actor, change: Change): Promise<void> {
  await insertEvent(sql, {
    id: newId('auditEvent'),
    organizationId: change.organizationId,
    actor: actor.id,
    address: actor.address,
    requestId: actor.requestId,
    action: change.action,
    resourceId: change.resourceId,
    changes: change.changes ?? [],
    createdAt: new Date(),
  });
}

/** Fields that differ, with both values. Only for resources without secrets and contents. */
export function changedValues(before: Readonly<Record<string, unknown>>, after: object): FieldChange[] {
  return Object.entries(after)
    .filter(([field, to]) => !isDeepStrictEqual(before[field], to))
    .map(([field, to]) => ({ field, ...(field in before && { from: before[field] }), to }));
}

/** Names of the fields that differ; `updated_at` is not reported. */
export function changedFields(before: Readonly<Record<string, unknown>>, after: object): FieldChange[] {
  return changedValues(before, after).flatMap(({ field }) => (field === 'updated_at' ? [] : [{ field }]));
}
