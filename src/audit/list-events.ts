import type { Sql } from '../db/db.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { AuditEvent, AuditQuery } from './schema.ts';
import { type AuditEventRow, selectEvents } from './store.ts';

/** Dependencies of the audit log. `nameActors`: names of keys and users by their ids; others have none. */
export type AuditDeps = Pick<Deps, 'db'> & {
  nameActors(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
};

/** A page of the audit log, oldest first unless `order` is `desc`. Throws 400 for an empty time range. */
export async function listAuditEvents(deps: AuditDeps, query: AuditQuery) {
  const bounds = pageBounds(query, 'auditEvent');
  const { start_time: start, end_time: end } = query;
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalidValue('start_time', "must be before 'end_time'");
  }
  const filter = {
    organizationId: query.organization_id,
    actor: query.actor,
    action: query.action,
    resourceId: query.resource_id,
    from: start === undefined ? undefined : new Date(start * 1000),
    until: end === undefined ? undefined : new Date(end * 1000),
  };
  const rows = await selectEvents(deps.db.sql, filter, bounds, query.order);
  const names = await deps.nameActors(deps.db.sql, [...new Set(rows.map(({ actor }) => actor))]);
  return page(
    rows.map((row) => viewEvent(row, names.get(row.actor) ?? null)),
    bounds.limit,
  );
}

function viewEvent(row: AuditEventRow, actorName: string | null): AuditEvent {
  return {
    id: row.id,
    object: 'audit_event',
    action: row.action as AuditEvent['action'],
    organization_id: row.organizationId,
    actor: row.actor,
    actor_name: actorName,
    address: row.address,
    request_id: row.requestId,
    resource_type: row.action.split('.')[0] ?? '',
    resource_id: row.resourceId,
    changes: row.changes,
    created_at: toUnixSeconds(row.createdAt),
  };
}
