import type { Registry } from 'prom-client';
import { addReadGauge, addSampledGauge } from '../lib/metrics.ts';
import type { Database } from './db.ts';

/** Registers the gauges of the connection pool of this process. */
export function registerPoolMetrics(registry: Registry, db: Pick<Database, 'connections'>): void {
  const connections = {
    name: 'quire_database_connections',
    help: 'Connections of this process to the database, by state.',
    labelNames: ['state'] as const,
  };
  addSampledGauge(registry, connections, () => {
    const { busy, idle } = db.connections();
    return Object.entries({ busy, idle }).map(([state, value]) => ({ labels: { state }, value }));
  });
  const add = (name: string, help: string, read: () => number) => addReadGauge(registry, name, help, read);
  add('quire_database_connections_max', 'Most connections of this process.', () => db.connections().max);
  add(
    'quire_database_waiting',
    'Statements and transactions that wait for a connection.',
    () => db.connections().waiting,
  );
}
