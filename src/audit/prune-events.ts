import type { Deps } from '../deps.ts';
import { deleteEventsBefore } from './store.ts';

const DAY_MS = 86_400_000;

/** Deletes events older than `QUIRE_AUDIT_RETENTION_DAYS`; none if unset. May run in several processes at once. */
export async function pruneAuditEvents({ db, config, now }: Pick<Deps, 'db' | 'config' | 'now'>): Promise<void> {
  if (config.auditRetentionDays === null) return;
  await deleteEventsBefore(db.sql, new Date(now() - config.auditRetentionDays * DAY_MS));
}
