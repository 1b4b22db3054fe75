import { count, lt } from 'drizzle-orm';
import type { Registry } from 'prom-client';
import type { Database } from '../../db/db.ts';
import { addSampledGauge, shareQuery } from '../../lib/metrics.ts';
import { droppedDocuments } from '../documents/tables.ts';
import { knowledgeBases } from '../tables.ts';

/** Registers gauges of the search indexes from the database. They are the same in every process of one database. */
export function registerIndexStateMetrics(registry: Registry, { sql }: Pick<Database, 'sql'>): void {
  const states = knowledgeBases.indexState.enumValues;
  const bases = { name: 'quire_knowledge_bases', help: 'Knowledge bases by the state of their search index.' };
  const readStates = shareQuery(() =>
    sql
      .select({ state: knowledgeBases.indexState, count: count() })
      .from(knowledgeBases)
      .groupBy(knowledgeBases.indexState),
  );
  addSampledGauge(registry, { ...bases, labelNames: ['index_state'] }, async () => {
    const counts = new Map((await readStates()).map((row) => [row.state, row.count]));
    return states.map((state) => ({ labels: { index_state: state }, value: counts.get(state) ?? 0 }));
  });
  const deleted = { name: 'quire_index_tombstones', help: 'Deleted documents that search indexes still hold.' };
  const countTombstones = shareQuery(() => sql.$count(droppedDocuments, lt(droppedDocuments.createdAt, new Date())));
  addSampledGauge(registry, { ...deleted, labelNames: [] }, async () => [
    { labels: {}, value: await countTombstones() },
  ]);
}
