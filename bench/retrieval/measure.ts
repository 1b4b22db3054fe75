import { quantile } from '../harness/statistics.ts';
import type { ChromaCollection } from './chroma-collection.ts';
import type { IndexClient } from './index-client.ts';
import { askOnce, measureRequests, requestsOf, type SearchServer } from './load.ts';
import type { Repetition } from './repeat.ts';
import { bodyOf, FILTERS, type Filter, nameOf, TOP, WORKLOADS, type Workload } from './workloads.ts';

/** How much is measured. */
export interface Plan {
  rounds: number;
  /** Of a window. */
  seconds: number;
  warmupSeconds: number;
  /** Queries whose results are compared with exact search. */
  recallQueries: number;
}

/** Searches at once. */
export const CONNECTIONS = [1, 16] as const;

/** All that takes part, over the same chunks. */
export interface Field {
  quire: SearchServer;
  /** LanceDB called directly, over the service's own table. */
  index: IndexClient;
  chroma: (SearchServer & Pick<ChromaCollection, 'folder'>) | null;
  queries: readonly string[];
  /** Of the queries. */
  vectors: readonly Float32Array[];
}

/** What one contender did in one window. */
export interface Window {
  contender: string;
  workload: string;
  atOnce: number;
  round: number;
  requests: number;
  p50Ms: number;
  p99Ms: number;
  perSecond: number;
}

/** The share of the exact ten that is found, of the vectors alone, and the share of the chunks that the filter leaves. */
export interface Recall {
  filter: string;
  selected: number;
  quire: number;
  chroma: number | null;
}

/** What the windows of LanceDB called directly, of the product's index class, and of the embedding of a query go by. */
export const DIRECT = { lancedb: 'LanceDB', 'chunk-index': 'ChunkIndex', embedding: 'embedding' } as const;

type Measured = { latenciesMs: number[]; seconds: number };

interface Turn {
  contender: string;
  atOnce: number;
  run(repetition: Repetition): Promise<Measured>;
}

/** Asks for the nearest chunks of some queries under every filter, and compares with what every vector compared gives. */
export async function measureRecall(field: Field, queries: number): Promise<Recall[]> {
  const { rows: all } = await field.index.exact({ filters: null, queries: 0 });
  const found: Recall[] = [];
  for (const filter of FILTERS) {
    const { ids, rows } = await field.index.exact({ filters: filter.filters, queries });
    const shares: { quire: number[]; chroma: number[] } = { quire: [], chroma: [] };
    for (const [at, nearest] of ids.entries()) {
      const body = bodyOf({ way: 'vector', filter }, field.queries[at] ?? '');
      const { results } = await askOnce<{ results: { chunk_id: string }[] }>(field.quire, body);
      shares.quire.push(
        shareOf(
          nearest,
          results.map(({ chunk_id }) => chunk_id),
        ),
      );
      if (field.chroma === null) continue;
      const answer = await askOnce<{ ids: string[][] }>(field.chroma, chromaBody(filter, field.vectors[at]));
      shares.chroma.push(shareOf(nearest, answer.ids[0] ?? []));
    }
    const chroma = field.chroma === null ? null : mean(shares.chroma);
    found.push({ filter: filter.name, selected: rows / all, quire: mean(shares.quire), chroma });
  }
  return found;
}

/** Runs every workload in every round, the contenders in turn, another one first each time. */
export async function measureSpeed(field: Field, plan: Plan, progress: (line: string) => void): Promise<Window[]> {
  const windows: Window[] = [];
  const workloads = WORKLOADS.map((workload) => ({ name: nameOf(workload), turns: turnsOf(field, workload) }));
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

function turnsOf(field: Field, workload: Workload): Turn[] {
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

function embeddingTurn({ index }: Field): Turn {
  const run = (repetition: Repetition) =>
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

function figuresOf({ latenciesMs, seconds }: Measured): Pick<Window, 'requests' | 'p50Ms' | 'p99Ms' | 'perSecond'> {
  const ascending = latenciesMs.toSorted((a, b) => a - b);
  const requests = ascending.length;
  return {
    requests,
    p50Ms: quantile(ascending, 0.5),
    p99Ms: quantile(ascending, 0.99),
    perSecond: requests / seconds,
  };
}

/** The share of the nearest that was found. */
export function shareOf(nearest: readonly string[], found: readonly string[]): number {
  const known = new Set(found);
  return nearest.length === 0 ? 1 : nearest.filter((id) => known.has(id)).length / nearest.length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
