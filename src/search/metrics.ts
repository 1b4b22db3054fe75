import { Gauge, type Registry } from 'prom-client';
import type { ChunkIndex } from './chunk-index.ts';

/** Registers the gauges of the index caches. */
export function registerIndexMetrics(registry: Registry, chunks: Pick<ChunkIndex, 'caches'>): void {
  new Gauge({
    name: 'quire_index_cache_bytes',
    help: 'Memory of the caches of the search index.',
    registers: [registry],
    collect() {
      this.set(chunks.caches.bytes);
    },
  });
  new Gauge({
    name: 'quire_index_cache_entries',
    help: 'Entries of the caches of the search index.',
    registers: [registry],
    collect() {
      this.set(chunks.caches.entries);
    },
  });
}
