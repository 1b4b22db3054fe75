import { quantile } from '../harness/statistics.ts';
import type { ChromaCollection } from './chroma-collection.ts';
import type { IndexClient } from './index-client.ts';
import { measureRequests, requestsOf, type SearchServer, sendQuery } from './load.ts';
import type { RepeatOptions } from './repeat.ts';
import {
  bodyOf,
  FILTERS,
  type Filter,
  RETRIEVAL_WORKLOADS,
  type RetrievalWorkload,
  TOP,
  workloadName,
} from './workloads.ts';

/** How much is measured. */
export interface MeasurementPlan {
  rounds: number;
  /** Duration of a window. */
  seconds: number;
  warmupSeconds: number;
  /** Queries whose results are compared with exact search. */
  recallQueries: number;
}

/** Concurrent searches. */
export const CONNECTIONS = [1, 16] as const;

/** The contenders over the same chunks. */
export interface Contenders {
  quire: SearchServer;
  /** LanceDB called directly, over the service's own table. */
  index: IndexClient;
  chroma: (SearchServer & Pick<ChromaCollection, 'folder'>) | null;
  queries: readonly string[];
  /** Vectors of the queries. */
  vectors: readonly Float32Array[];
}

/** Measurements of one contender in one window. */
export interface MeasuredWindow {
  contender: string;
  workload: string;
  atOnce: number;
  round: number;
  requests: number;
  p50Ms: number;
  p99Ms: number;
  perSecond: number;
}

/** Recall@10 of vector search, and the share of chunks that match the filter. */
export interface Recall {
  filter: string;
  selected: number;
  quire: number;
  chroma: number | null;
}

/** Names of the windows of LanceDB, the product's index class, and the embedding of a query. */
export const DIRECT = { lancedb: 'LanceDB', 'chunk-index': 'ChunkIndex', embedding: 'embedding' } as const;

type Measured = { latenciesMs: number[]; seconds: number };

interface Turn {
  contender: string;
  atOnce: number;
  run(repetition: RepeatOptions): Promise<Measured>;
}

/** Measures recall against exact search under every filter. */
export async function measureRecall(field: Contenders, queries: number): Promise<Recall[]> {
  const { rows: all } = await field.index.exact({ filters: null, queries: 0 });
  const found: Recall[] = [];
  for (const filter of FILTERS) {
    const { ids, rows } = await field.index.exact({ filters: filter.filters, queries });
    const shares: { quire: number[]; chroma: number[] } = { quire: [], chroma: [] };
    for (const [at, nearest] of ids.entries()) {
      const body = bodyOf({ way: 'vector', filter }, field.queries[at] ?? '');
      const { results } = await sendQuery<{ results: { chunk_id: string }[] }>(field.quire, body);
      shares.quire.push(
        shareOf(
          nearest,
          results.map(({ chunk_id }) => chunk_id),
        ),
      );
      if (field.chroma === null) continue;
      const answer = await sendQuery<{ ids: string[][] }>(field.chroma, chromaBody(filter, field.vectors[at]));
      shares.chroma.push(shareOf(nearest, answer.ids[0] ?? []));
    }
    const chroma = field.chroma === null ? null : mean(shares.chroma);
    found.push({ filter: filter.name, selected: rows / all, quire: mean(shares.quire), chroma });
  }
  return found;
}

/** Runs every workload in every round, rotating the order of contenders. */
export async function measureLatency(
  field: Contenders,
  plan: MeasurementPlan,
  progress: (line: string) => void,
): Promise<MeasuredWindow[]> {
  const windows: MeasuredWindow[] = [];
  const workloads = RETRIEVAL_WORKLOADS.map((workload) => ({
    name: workloadName(workload),
    turns: turnsOf(field, workload),
  }));
  for (let round = 0; round < plan.rounds; round++) {
    progress(`round ${round + 1} of ${plan.rounds}`);
    for (const { name, turns } of [...workloads, { name: 'query', turns: [embeddingTurn(field)] }]) {
      for (let turn = 0; turn < turns.length; turn++) {
        const { contender, atOnce, run } = turns[(turn + round) % turns.length] as Turn;
        await run({ atOnce, seconds: plan.warmupSeconds });
        const measured = await run({ atOnce, seconds: plan.seconds });
        windows.push({ contender, workload: name, atOnce, round, ...figuresOf(measured) });
      }
    }
  }
  return windows;
}

function turnsOf(field: Contenders, workload: RetrievalWorkload): Turn[] {
  const { way, filter } = workload;
  const ours = requestsOf(
    field.quire,
    field.queries.map((query) => bodyOf(workload, query)),
  );
  const direct = (by: 'lancedb' | 'chunk-index', atOnce: number): Turn => ({
    contender: DIRECT[by],
    atOnce,
    run: (repetition) => field.index.window({ by, way, filters: filter.filters, ...repetition }),
  });
  const served = (server: SearchServer, requests: readonly Buffer[]): Turn[] =>
    CONNECTIONS.map((atOnce) => ({
      contender: server.name,
      atOnce,
      run: (repetition) => measureRequests(server, requests, repetition),
    }));
  const theirs = (server: SearchServer): Turn[] =>
    served(
      server,
      requestsOf(
        server,
        field.vectors.map((vector) => chromaBody(filter, vector)),
      ),
    );
  return [
    ...served(field.quire, ours),
    ...CONNECTIONS.map((atOnce) => direct('lancedb', atOnce)),
    direct('chunk-index', 1),
    ...(field.chroma !== null && way === 'vector' ? theirs(field.chroma) : []),
  ];
}

function embeddingTurn({ index }: Contenders): Turn {
  const run = (repetition: RepeatOptions) =>
    index.window({ by: 'embedding', way: 'vector', filters: null, ...repetition });
  return { contender: DIRECT.embedding, atOnce: 1, run };
}

function chromaBody(filter: Filter, vector: Float32Array | undefined): object {
  return {
    query_embeddings: [Array.from(vector ?? [])],
    n_results: TOP,
    include: ['documents', 'metadatas', 'distances'],
    ...(filter.where !== null && { where: filter.where }),
  };
}

function figuresOf({
  latenciesMs,
  seconds,
}: Measured): Pick<MeasuredWindow, 'requests' | 'p50Ms' | 'p99Ms' | 'perSecond'> {
  const ascending = latenciesMs.toSorted((a, b) => a - b);
  const requests = ascending.length;
  return {
    requests,
    p50Ms: quantile(ascending, 0.5),
    p99Ms: quantile(ascending, 0.99),
    perSecond: requests / seconds,
  };
}

/** Share of the exact nearest chunks that was found. */
export function shareOf(nearest: readonly string[], found: readonly string[]): number {
  const known = new Set(found);
  return nearest.length === 0 ? 1 : nearest.filter((id) => known.has(id)).length / nearest.length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
