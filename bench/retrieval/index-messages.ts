import type { Language } from '../../src/search/languages.ts';
import type { Way } from './workloads.ts';

/** Opens the service's table of a knowledge base, and embeds the queries. */
export interface OpenCommand {
  kind: 'open';
  /** The folder of the index. */
  folder: string;
  baseId: string;
  languages: Language[];
  queries: string[];
}

/** The nearest chunks of each of the first so many queries, every vector compared. */
export interface ExactCommand {
  kind: 'exact';
  filters: Record<string, unknown> | null;
  queries: number;
}

/**
 * Searches for so long, so many at once: by LanceDB's calls alone, by the product's `ChunkIndex`, or no search and the embedding of the
 * query instead.
 */
export interface WindowCommand {
  kind: 'window';
  by: 'lancedb' | 'chunk-index' | 'embedding';
  way: Way;
  filters: Record<string, unknown> | null;
  atOnce: number;
  seconds: number;
}

/** What the process can be told. */
export type IndexCommand = OpenCommand | ExactCommand | WindowCommand;

/** The vectors of the queries, and the rows of the table. */
export interface OpenResult {
  vectors: Float32Array[];
  rows: number;
}

/** Ids of the nearest chunks of each query, and the rows that the filter leaves. */
export interface ExactResult {
  ids: string[][];
  rows: number;
}

/** Milliseconds of each search, and how long all of them took. */
export interface WindowResult {
  latenciesMs: number[];
  seconds: number;
}

/** The answer to a command. */
export type IndexAnswer = { result: OpenResult | ExactResult | WindowResult } | { error: string };
