import { Counter, type Registry } from 'prom-client';
import { addReadGauge } from '../lib/metrics.ts';
import type { ProcessLease } from './process-lease.ts';

/** Registers the metrics of the lease of this process. */
export function registerLeaseMetrics(
  registry: Registry,
  lease: Pick<ProcessLease, 'ageSeconds' | 'isHeld' | 'losses'>,
): void {
  addReadGauge(registry, 'quire_lease_held', 'Whether this process holds its lease (1).', () => Number(lease.isHeld()));
  addReadGauge(
    registry,
    'quire_lease_age_seconds',
    'Time since the last heartbeat of this process that reached the database.',
    () => lease.ageSeconds,
  );
  const losses = new Counter({
    name: 'quire_lease_losses_total',
    help: 'Losses of the lease of this process.',
    registers: [registry],
    collect: () => {
      losses.reset();
      losses.inc(lease.losses);
    },
  });
}
