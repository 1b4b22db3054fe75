import { countColumn, type MetricTable } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { documentsOf, type IngestionResult } from './ingesting.ts';

/** Documents that are searched by their own words. */
const QUERIES = 40;
/** Characters of a chunk used as the query. */
const QUERY_CHARACTERS = 200;

/** Contents of a knowledge base before and after its data source is deleted: counts, lists and search results. */
export async function deletionSheet(
  service: ServiceClient,
  { base, source, documents }: IngestionResult,
): Promise<MetricTable> {
  const path = `/v1/knowledge-bases/${base}`;
  const queries = await queriesFrom(service, path, documents);
  const before = await holdings(service, path, queries);
  await service.delete(`${path}/data-sources/${source}`);
  const after = await holdings(service, path, queries);
  const names = ['documents', 'chunks', 'documents listed', 'data sources listed', 'jobs listed'];
  return {
    title: 'The knowledge base, before and after its data source is deleted',
    subject: 'what it has',
    columns: ['before', 'after'].map((name) => ({ ...countColumn(name), fixed: false })),
    rows: [...names, `searches of ${queries.length} that find something`].map((name, at) => ({
      name,
      cells: [before[at] ?? null, after[at] ?? null],
    })),
  };
}

async function queriesFrom(
  service: ServiceClient,
  path: string,
  documents: IngestionResult['documents'],
): Promise<string[]> {
  const filled = documents.filter(({ chunk_count }) => chunk_count > 0);
  const step = Math.max(1, Math.floor(filled.length / QUERIES));
  const queries: string[] = [];
  for (const { id } of filled.filter((_, at) => at % step === 0).slice(0, QUERIES)) {
    const { data } = await service.get<{ data: { text: string }[] }>(`${path}/documents/${id}/chunks?limit=1`);
    queries.push(data[0]?.text.slice(0, QUERY_CHARACTERS) ?? '');
  }
  return queries.filter((query) => query.trim() !== '');
}

async function holdings(service: ServiceClient, path: string, queries: readonly string[]): Promise<number[]> {
  const base = await service.get<{ document_count: number; chunk_count: number }>(path);
  const sources = await service.get<{ data: unknown[] }>(`${path}/data-sources`);
  const jobs = await service.get<{ data: unknown[] }>(`${path}/ingestion-jobs`);
  let finding = 0;
  for (const query of queries) {
    const { results } = await service.post<{ results: unknown[] }>(`${path}/retrieve`, { query, top_k: 5 });
    if (results.length > 0) finding += 1;
  }
  const listed = (await documentsOf(service, path)).length;
  return [base.document_count, base.chunk_count, listed, sources.data.length, jobs.data.length, finding];
}
