import type { Language } from '../../src/search/languages.ts';
import type { Way } from './workloads.ts';

/** Opens a knowledge base's table and embeds the queries. */
export interface OpenCommand {
  kind: 'open';
  /** The folder of the index. */
  folder: string;
  baseId: string;
  languages: Language[];
  queries: string[];
}

/** Exact nearest chunks of the first queries. */
export interface ExactCommand {
  kind: 'exact';
  filters: Record<string, unknown> | null;
  queries: number;
}

/**
 * Runs a load of searches: LanceDB's calls, the product's `ChunkIndex`, or only the embedding of queries.
 */
export interface WindowCommand {
  kind: 'window';
  by: 'lancedb' | 'chunk-index' | 'embedding';
  way: Way;
  filters: Record<string, unknown> | null;
  atOnce: number;
  seconds: number;
}

/** Commands of the process. */
export type IndexCommand = OpenCommand | ExactCommand | WindowCommand;

/** Query vectors and the number of rows. */
export interface OpenResult {
  vectors: Float32Array[];
  rows: number;
}

/** Nearest chunk ids per query, and the rows that match the filter. */
export interface ExactResult {
  ids: string[][];
  rows: number;
}

/** Latencies in milliseconds and the total duration. */
export interface WindowResult {
  latenciesMs: number[];
  seconds: number;
}

/** Reply to a command. */
export type IndexAnswer = { result: OpenResult | ExactResult | WindowResult } | { error: string };
