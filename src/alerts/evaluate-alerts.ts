import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../deps.ts';
import { newId } from '../lib/ids.ts';
import { describeError } from '../lib/operator-error.ts';
import { DELIVER_ALERT, queueDeliveries } from './delivery/queue-deliveries.ts';
import { deleteDeliveriesBefore } from './delivery/store.ts';
import {
  type AlertCause,
  type BackupState,
  findFailedSyncs,
  findSpentBudgets,
  findStaleBackups,
  UnhealthyServers,
} from './find-causes.ts';
import { viewAlert } from './manage-alerts.ts';
import {
  type AlertRow,
  claimEvaluation,
  deleteAlertsBefore,
  insertAlerts,
  resolveAlerts,
  selectOpenAlerts,
  updateAlert,
} from './store.ts';
import type { AlertKind } from './tables.ts';

/** Retention of resolved alerts. */
const RETENTION_MS = 90 * 24 * 60 * 60_000;

/** Dependencies of the evaluation. `backups` is null if this process makes no backups. */
export type AlertEvaluationDeps = Pick<Deps, 'db' | 'jobs' | 'lease' | 'logger' | 'models' | 'now'> & {
  backups: BackupState | null;
};

/**
 * Creates the periodic task that opens and resolves alerts. Only one process of the instance runs it at a time; another
 * process takes over when that process ends.
 */
export function createAlertEvaluation(deps: AlertEvaluationDeps): () => Promise<void> {
  const { db, lease, logger, now, backups } = deps;
  const startedAt = now();
  const servers = new UnhealthyServers();
  const finders: [AlertKind, () => AlertCause[] | Promise<AlertCause[]>][] = [
    ['sync_failed', () => findFailedSyncs(deps)],
    ['budget_threshold', () => findSpentBudgets(deps)],
    ['backup_stale', () => findStaleBackups(backups, startedAt, now())],
    ['upstream_unhealthy', () => servers.find(deps)],
  ];
  return async () => {
    if (!(await claimEvaluation(db.sql, lease.id))) return;
    for (const [kind, find] of finders) {
      try {
        await reconcileAlerts(deps, kind, await find());
      } catch (error) {
        logger.error({ kind, reason: describeError(error) }, 'alert evaluation failed');
      }
    }
  };
}

const subjectKey = ({ organizationId, subject }: Pick<AlertRow, 'organizationId' | 'subject'>) =>
  `${organizationId}/${subject}`;

/**
 * Opens an alert for each new cause and resolves the alerts whose cause has ended. Idempotent, and safe to run in
 * several processes at once.
 */
export async function reconcileAlerts(
  deps: Pick<AlertEvaluationDeps, 'db' | 'jobs' | 'now'>,
  kind: AlertKind,
  causes: readonly AlertCause[],
): Promise<void> {
  const { db, jobs, now } = deps;
  const at = new Date(now());
  const queued = await db.sql.transaction(async (sql) => {
    const open = new Map((await selectOpenAlerts(sql, [kind])).map((row) => [subjectKey(row), row]));
    const added: AlertRow[] = [];
    for (const cause of causes) {
      const row = open.get(subjectKey(cause));
      open.delete(subjectKey(cause));
      const unset = { acknowledgedAt: null, acknowledgedBy: null, resolvedAt: null };
      if (row === undefined) added.push({ ...cause, ...unset, id: newId('alert'), createdAt: at });
      else if (!isDeepStrictEqual({ ...row, ...cause }, row)) await updateAlert(sql, row.id, pickTexts(cause));
    }
    const opened = await insertAlerts(sql, added);
    const endedIds = [...open.values()].map(({ id }) => id);
    const resolved = await resolveAlerts(sql, endedIds, at);
    const messages = await queueDeliveries(sql, deps, 'alert.opened', opened.map(viewAlert));
    return messages + (await queueDeliveries(sql, deps, 'alert.resolved', resolved.map(viewAlert)));
  });
  if (queued > 0) jobs.wake(DELIVER_ALERT);
}

const pickTexts = ({ name, path, details }: AlertCause) => ({ name, path, details });

/** Deletes resolved alerts and deliveries that are older than the retention. */
export async function pruneAlerts({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  const time = new Date(now() - RETENTION_MS);
  await deleteAlertsBefore(db.sql, time);
  await deleteDeliveriesBefore(db.sql, time);
}
