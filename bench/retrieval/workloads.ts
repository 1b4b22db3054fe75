import type { SearchType } from '../../src/knowledge-bases/retrieval/schema.ts';
import { FIRST_YEAR } from './documents.ts';

/** Results of an answer. */
export const TOP = 10;

/** What the chunks of some of the documents are found by. */
export interface Filter {
  name: string;
  /** As `POST /v1/knowledge-bases/{kb_id}/retrieve` takes it; null without a filter. */
  filters: Record<string, unknown> | null;
  /** As Chroma takes it. */
  where: Record<string, unknown> | null;
}

const years = { $gte: FIRST_YEAR + 50 };

/** All filters; the share of the documents that has it is in the name. */
export const FILTERS: readonly Filter[] = [
  { name: 'all', filters: null, where: null },
  { name: 'range, 50 %', filters: { metadata: { year: years } }, where: { year: years } },
  { name: 'equal, 10 %', filters: { metadata: { shelf: 'shelf-3' } }, where: { shelf: 'shelf-3' } },
  { name: 'equal, 1 %', filters: { metadata: { desk: 'desk-42' } }, where: { desk: 'desk-42' } },
];

/** The ways to search. */
export const WAYS = ['vector', 'keyword', 'hybrid'] as const satisfies readonly SearchType[];

/** One of `WAYS`. */
export type Way = (typeof WAYS)[number];

/** One kind of request. */
export interface Workload {
  way: Way;
  filter: Filter;
}

/** All kinds, in order. */
export const WORKLOADS: readonly Workload[] = WAYS.flatMap((way) => FILTERS.map((filter) => ({ way, filter })));

/** A workload's name for people. */
export function nameOf({ way, filter }: Workload): string {
  return filter.filters === null ? way : `${way}, ${filter.name}`;
}

/** The body of the request of a query to the service. */
export function bodyOf({ way, filter }: Workload, query: string): object {
  return { query, top_k: TOP, search_type: way, ...(filter.filters !== null && { filters: filter.filters }) };
}
