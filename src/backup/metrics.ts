import { Counter, Gauge, type Registry } from 'prom-client';
import { addReadGauge } from '../lib/metrics.ts';
import type { Backups } from './backups.ts';

/** Registers the metrics of backups. A time that is not known has no sample. */
export function registerBackupMetrics(registry: Registry, backups: Backups, now: () => number): void {
  const { archiver } = backups;
  const time = (name: string, help: string, readMs: () => number | null) => {
    const collect = () => {
      const ms = readMs();
      if (ms === null) gauge.remove();
      else gauge.set(ms / 1000);
    };
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
  };
  time(
    'quire_backup_last_timestamp_seconds',
    'Time of the newest base backup.',
    () => backups.last?.consistentAt ?? null,
  );
  time('quire_backup_due_timestamp_seconds', 'Time at which the next scheduled backup is due.', () => backups.dueMs);
  time(
    'quire_backup_archived_until_timestamp_seconds',
    'Time up to which the archived WAL can be restored.',
    () => archiver.archivedUntilMs,
  );
  time('quire_backup_pending_wal_seconds', 'Age of the oldest completed WAL that is not archived.', () => {
    const { oldestMs } = archiver.pending;
    return oldestMs === null ? 0 : now() - oldestMs;
  });
  addReadGauge(
    registry,
    'quire_backup_pending_wal_bytes',
    'Completed WAL that is not archived.',
    () => archiver.pending.bytes,
  );
  addReadCounter(
    registry,
    'quire_backup_bytes_total',
    'Content that base backups have read.',
    () => backups.copiedBytes,
  );
  addReadCounter(registry, 'quire_backup_wal_bytes_total', 'WAL that was archived.', () => archiver.archivedBytes);
  addReadCounter(
    registry,
    'quire_backup_dropped_wal_segments_total',
    'WAL segments that were given up because the target did not take them.',
    () => archiver.droppedSegments,
  );
  for (const kind of ['base', 'wal'] as const) {
    addReadCounter(
      registry,
      `quire_backup_${kind}_failures_total`,
      kind === 'base' ? 'Base backups that failed.' : 'Runs of the WAL archiver that failed.',
      () => backups.failures[kind],
    );
  }
}

/** Registers a counter whose value is read at every scrape. */
function addReadCounter(registry: Registry, name: string, help: string, read: () => number): void {
  const counter: Counter = new Counter({
    name,
    help,
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc(read());
    },
  });
}
