import type { SearchType } from '../../src/knowledge-bases/retrieval/schema.ts';
import { FIRST_YEAR } from './documents.ts';

/** Results per response. */
export const TOP = 10;

/** A metadata filter. */
export interface Filter {
  name: string;
  /** Filter of `POST /v1/knowledge-bases/{kb_id}/retrieve`; null for none. */
  filters: Record<string, unknown> | null;
  /** Filter of Chroma. */
  where: Record<string, unknown> | null;
}

const years = { $gte: FIRST_YEAR + 50 };

/** Filters, named by the share of matching documents. */
export const FILTERS: readonly Filter[] = [
  { name: 'all', filters: null, where: null },
  { name: 'range, 50 %', filters: { metadata: { year: years } }, where: { year: years } },
  { name: 'equal, 10 %', filters: { metadata: { shelf: 'shelf-3' } }, where: { shelf: 'shelf-3' } },
  { name: 'equal, 1 %', filters: { metadata: { desk: 'desk-42' } }, where: { desk: 'desk-42' } },
];

/** Search types. */
export const WAYS = ['vector', 'keyword', 'hybrid'] as const satisfies readonly SearchType[];

/** One of `WAYS`. */
export type Way = (typeof WAYS)[number];

/** A search type with a filter. */
export interface RetrievalWorkload {
  way: Way;
  filter: Filter;
}

/** All workloads. */
export const RETRIEVAL_WORKLOADS: readonly RetrievalWorkload[] = WAYS.flatMap((way) =>
  FILTERS.map((filter) => ({ way, filter })),
);

/** Display name of a workload. */
export function workloadName({ way, filter }: RetrievalWorkload): string {
  return filter.filters === null ? way : `${way}, ${filter.name}`;
}

/** Request body of a query. */
export function bodyOf({ way, filter }: RetrievalWorkload, query: string): object {
  return { query, top_k: TOP, search_type: way, ...(filter.filters !== null && { filters: filter.filters }) };
}
