import type { Backups } from '../backup/backups.ts';
import { findMonth } from '../billing/budgets/forecast.ts';
import { selectAllBudgets } from '../billing/budgets/store.ts';
import { sumUsage } from '../billing/usage-store.ts';
import type { Deps } from '../deps.ts';
import { type EngineRuntime, modelRuntime } from '../engines/registry.ts';
import { checkEngine } from '../health/check-health.ts';
import { type AlertRow, selectFailedSources, selectOpenAlerts } from './store.ts';
import { NO_DETAILS } from './tables.ts';

/** Tolerated delay of scheduled backups and of WAL archiving. Equal to `deploy/prometheus/quire.rules.yaml`. */
const BACKUP_LATE_MS = 2 * 60 * 60_000;
const WAL_WAITS_MS = 10 * 60_000;
/** Minimum time that a server is unhealthy before an alert. Restarts and short ejections raise none. */
export const UNHEALTHY_MS = 60_000;
/** Maximum number of failed data sources per evaluation: a network outage must not fill the table. */
const MAX_SOURCES = 1_000;

/** Maximum number of keys and users whose usage of the month is read; the ones with the lowest cost are omitted. */
const MAX_CALLERS = 100_000;

/** Cause of an alert. */
export type AlertCause = Pick<AlertRow, 'organizationId' | 'kind' | 'subject' | 'name' | 'path' | 'details'>;

/** Finds data sources whose last sync failed. */
export async function findFailedSyncs({ db }: Pick<Deps, 'db'>): Promise<AlertCause[]> {
  const sources = await selectFailedSources(db.sql, MAX_SOURCES);
  return sources.map(({ id, organizationId, name, knowledgeBaseId, error }) => ({
    organizationId,
    kind: 'sync_failed',
    subject: id,
    name,
    path: `/knowledge-bases/${knowledgeBaseId}?tab=sources`,
    details: { ...NO_DETAILS, error: error?.message ?? null },
  }));
}

/** State of backups that is evaluated. */
export type BackupState = Pick<Backups, 'dueMs'> & { archiver: Pick<Backups['archiver'], 'pending'> };

/** Finds overdue scheduled backups and WAL that could not be archived. Times are Unix milliseconds. */
export function findStaleBackups(backups: BackupState | null, startedAt: number, now: number): AlertCause[] {
  const cause = (subject: string, sinceMs: number, error: string): AlertCause => ({
    organizationId: '',
    kind: 'backup_stale',
    subject,
    name: subject,
    path: '/settings/instance',
    details: { ...NO_DETAILS, error, since: Math.floor(sinceMs / 1000) },
  });
  if (backups === null) return [];
  const causes: AlertCause[] = [];
  // The first backup is due at startup, and so are backups that were missed while the service was stopped.
  const dueMs = backups.dueMs === null ? null : Math.max(backups.dueMs, startedAt);
  if (dueMs !== null && now - dueMs > BACKUP_LATE_MS) {
    causes.push(cause('schedule', dueMs, 'the scheduled base backup was not made.'));
  }
  const { oldestMs } = backups.archiver.pending;
  if (oldestMs !== null && now - oldestMs > WAL_WAITS_MS) {
    causes.push(cause('wal', oldestMs, 'the backup target does not take the archived changes (WAL).'));
  }
  return causes;
}

/** Finds servers of upstreams that stay unhealthy for `UNHEALTHY_MS`. */
export class UnhealthyServers {
  /** Start of the unhealthy period by URL, in Unix milliseconds. Null before the first evaluation of this process. */
  #since: ReadonlyMap<string, number> | null = null;

  /** Probes the servers of every upstream and returns the causes of new and continuing alerts. */
  async find({ db, models, now }: Pick<Deps, 'db' | 'models' | 'now'>): Promise<AlertCause[]> {
    // An open alert of an earlier process must not be resolved for the first minute of this one.
    this.#since ??= new Map(
      (await selectOpenAlerts(db.sql, ['upstream_unhealthy'])).map(({ subject, details }) => [
        subject,
        (details.since ?? 0) * 1000,
      ]),
    );
    const upstreams = models.runtimes().filter((engine) => (engine.servers?.() ?? []).length > 0);
    await Promise.all(upstreams.map(checkEngine));
    const earlierSince = this.#since;
    const since = new Map<string, number>();
    const unhealthy = new Map<string, { models: string[]; error: string | null }>();
    for (const engine of upstreams) {
      const ids = servedModels(models, engine);
      for (const { url, isHealthy, lastError } of engine.servers?.() ?? []) {
        if (isHealthy) continue;
        since.set(url, earlierSince.get(url) ?? now());
        const earlier = unhealthy.get(url);
        unhealthy.set(url, {
          models: [...(earlier?.models ?? []), ...ids],
          error: earlier?.error ?? lastError?.message ?? null,
        });
      }
    }
    this.#since = since;
    return [...unhealthy].flatMap(([url, { models: ids, error }]): AlertCause[] => {
      const sinceMs = since.get(url) ?? now();
      if (now() - sinceMs < UNHEALTHY_MS) return [];
      const details = { ...NO_DETAILS, error, models: ids.toSorted(), since: Math.floor(sinceMs / 1000) };
      return [{ organizationId: '', kind: 'upstream_unhealthy', subject: url, name: url, path: '/models', details }];
    });
  }
}

const servedModels = (models: Deps['models'], engine: EngineRuntime): string[] =>
  models.list().flatMap((model) => (modelRuntime(model) === engine ? [model.id] : []));

/**
 * Finds budgets whose spend has reached a threshold. Each budget, month and threshold has its own alert, which is
 * resolved when the month ends or the amount is raised. Reads the usage once for all budgets.
 */
export async function findSpentBudgets({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<AlertCause[]> {
  const budgets = await selectAllBudgets(db.sql);
  if (budgets.length === 0) return [];
  const { start, end } = findMonth(now());
  const month = new Date(start).toISOString().slice(0, 'YYYY-MM'.length);
  const all = { bucket: 'total', groups: ['key'], organizationId: null, keyIds: null, offset: 0 } as const;
  const costs = await sumUsage(db, { start, end, ...all, limit: MAX_CALLERS });
  const byOrganization = Map.groupBy(costs, (cost) => cost.organization_id);
  return budgets.flatMap(({ id, organizationId, name, keyIds, amountMicros, thresholds, isEnforced }) => {
    const counted = keyIds && new Set<string | null>(keyIds);
    const spentMicros = (byOrganization.get(organizationId) ?? [])
      .filter((cost) => counted?.has(cost.key_id) ?? true)
      .reduce((total, cost) => total + cost.cost_micros, 0);
    const spent = thresholds.filter((threshold) => spentMicros * 100 >= amountMicros * threshold);
    return spent.map((threshold): AlertCause => {
      const facts = { threshold_percent: threshold, amount_micros: amountMicros, is_enforced: isEnforced };
      const subject = `${id}/${month}/${threshold}`;
      const details = { ...NO_DETAILS, ...facts };
      return { organizationId, kind: 'budget_threshold', subject, name, path: '/alerts/budgets', details };
    });
  });
}
