import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { AuditEvent, AuditQuery } from './schema.ts';
import { type AuditEventRow, selectEvents } from './store.ts';

/** A page of the audit log, oldest first. Throws 400 for an empty time range. */
export async function listAuditEvents(deps: Pick<Deps, 'db'>, query: AuditQuery) {
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
  const rows = await selectEvents(deps.db.sql, filter, bounds);
  return page(rows.map(viewEvent), bounds.limit);
}

function viewEvent(row: AuditEventRow): AuditEvent {
  return {
    id: row.id,
    object: 'audit_event',
    action: row.action as AuditEvent['action'],
    organization_id: row.organizationId,
    actor: row.actor,
    address: row.address,
    request_id: row.requestId,
    resource_type: row.action.split('.')[0] ?? '',
    resource_id: row.resourceId,
    changes: row.changes,
    created_at: toUnixSeconds(row.createdAt),
  };
}
