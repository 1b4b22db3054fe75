import type { Registry } from 'prom-client';
import { addReadGauge } from '../lib/metrics.ts';
import type { ChunkIndex } from './chunk-index.ts';

/** Registers the gauges of the index caches and of the maintenance that indexes need. */
export function registerIndexMetrics(registry: Registry, chunks: Pick<ChunkIndex, 'caches' | 'maintenanceDebt'>): void {
  const add = (name: string, help: string, read: () => number) => addReadGauge(registry, name, help, read);
  add('quire_index_cache_bytes', 'Memory of the caches of the search index.', () => chunks.caches.bytes);
  add('quire_index_cache_entries', 'Entries of the caches of the search index.', () => chunks.caches.entries);
  const debt = 'that the maintenance of search indexes by this process has left.';
  const read = () => chunks.maintenanceDebt();
  add('quire_index_unindexed_rows', `Rows outside of an index ${debt}`, () => read().unindexedRows);
  add('quire_index_deleted_rows', `Deleted rows in statistics of keyword searches ${debt}`, () => read().deletedRows);
  add('quire_index_fragments', `Fragments of tables ${debt}`, () => read().fragments);
}
