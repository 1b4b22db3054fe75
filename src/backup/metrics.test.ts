import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import type { Backups } from './backups.ts';
import { registerBackupMetrics } from './metrics.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** State of backups with all values known, or none. */
const backups = (isKnown: boolean) =>
  ({
    last: isKnown ? { consistentAt: 1_000_000 } : null,
    dueMs: isKnown ? 2_000_000 : null,
    copiedBytes: 5,
    failures: { base: 1, wal: 2 },
    archiver: {
      archivedUntilMs: isKnown ? 3_000_000 : null,
      pending: { bytes: 7, oldestMs: isKnown ? 4_000_000 : null },
      archivedBytes: 6,
      droppedSegments: 3,
    },
  }) as unknown as Backups;

async function scrape(isKnown: boolean): Promise<Record<string, number>> {
  const registry = new Registry();
  registerBackupMetrics(registry, backups(isKnown), () => 4_010_000);
  const text = await registry.metrics();
  await registry.metrics();
  return Object.fromEntries(
    [...text.matchAll(/^(quire_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
}

describe('the metrics of backups', () => {
  it('are times in seconds, counts that do not grow with scrapes, and nothing for an unknown time', async () => {
    const known = await scrape(true);
    assert.deepEqual(known, {
      quire_backup_last_timestamp_seconds: 1000,
      quire_backup_due_timestamp_seconds: 2000,
      quire_backup_archived_until_timestamp_seconds: 3000,
      quire_backup_pending_wal_seconds: 10,
      quire_backup_pending_wal_bytes: 7,
      quire_backup_bytes_total: 5,
      quire_backup_wal_bytes_total: 6,
      quire_backup_dropped_wal_segments_total: 3,
      quire_backup_base_failures_total: 1,
      quire_backup_wal_failures_total: 2,
    });
    const unknown = await scrape(false);
    assert.equal(unknown['quire_backup_pending_wal_seconds'], 0);
    assert.equal('quire_backup_due_timestamp_seconds' in unknown, false);
  });

  it('are documented, and the rules use no others', async () => {
    const names = Object.keys(await scrape(true));
    const documented = read('docs/use/monitoring.md');
    for (const name of names) assert.ok(documented.includes(`\`${name}\``), name);
    const used = [...read('deploy/prometheus/quire.rules.yaml').matchAll(/\bquire_backup_[a-z_]+/g)].map(
      ([name]) => name,
    );
    assert.ok(used.length >= 3);
    for (const name of used) assert.ok(names.includes(name), name);
  });
});
