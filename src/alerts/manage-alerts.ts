import { findRow } from '../db/find-row.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { hasScope } from '../http/auth.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { describeAlert } from './describe-alert.ts';
import type { AlertResource, AlertsQuery } from './schema.ts';
import { type AlertRow, type AlertScope, markAcknowledged, selectAlert, selectAlerts } from './store.ts';

/** Lists the alerts of the caller's organization and, with the scope `admin`, of the instance. */
export async function listAlerts({ db }: Pick<Deps, 'db'>, { caller }: Call, query: AlertsQuery) {
  const bounds = pageBounds(query, 'alert');
  const rows = await selectAlerts(db.sql, alertScope(caller), query, bounds);
  return page(rows.map(viewAlert), bounds.limit);
}

/** Acknowledges an alert, which stays open until its cause ends. Idempotent. Throws 404 `alert_not_found`. */
export async function acknowledgeAlert(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { caller }: Call,
  id: string,
): Promise<AlertResource> {
  const scope = alertScope(caller);
  await findRow('alert', id, 'alert_id', () => selectAlert(db.sql, scope, id));
  await markAcknowledged(db.sql, id, caller.keyId, new Date(now()));
  return viewAlert(await findRow('alert', id, 'alert_id', () => selectAlert(db.sql, scope, id)));
}

/** Keys that are restricted to knowledge bases do not see failed syncs, which may belong to other knowledge bases. */
function alertScope(caller: Caller): AlertScope {
  const { organizationId, knowledgeBaseIds = null } = caller;
  return {
    organizationIds: hasScope(caller, 'admin') ? [organizationId, ''] : [organizationId],
    hiddenKinds: knowledgeBaseIds === null ? [] : ['sync_failed'],
  };
}

const optionalSeconds = (time: Date | null): number | null => (time === null ? null : toUnixSeconds(time));

/** Converts a row to the alert of the API. */
export function viewAlert(row: AlertRow): AlertResource {
  const { id, kind, organizationId, subject, name, path, details } = row;
  return {
    id,
    object: 'alert',
    kind,
    organization_id: organizationId === '' ? null : organizationId,
    status: row.resolvedAt === null ? 'open' : 'resolved',
    resource_id: subject,
    name,
    ...describeAlert(row),
    path,
    details,
    created_at: toUnixSeconds(row.createdAt),
    acknowledged_at: optionalSeconds(row.acknowledgedAt),
    acknowledged_by: row.acknowledgedBy,
    resolved_at: optionalSeconds(row.resolvedAt),
  };
}
