/**
 * Measures latency, recall and build time of LanceDB's vector indexes with their parameters, over the first vectors of
 * a filled folder. `node bench/retrieval/sweep.ts --data DIR [--sizes LIST] [--queries N] [--folder DIR]`; see
 * bench/README.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Connection, connect, Index, type IndexOptions, type Table, type VectorQuery } from '@lancedb/lancedb';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { createBundledEmbedding } from '../../src/engines/bundled/bundled-embedding.ts';
import { fieldLabel } from '../../src/search/field-values.ts';
import { BENCH_SCRATCH, runCommand } from '../harness/command.ts';
import { requireDataFiles } from '../harness/data-set.ts';
import { quantile } from '../harness/statistics.ts';
import { renderTable } from '../harness/text-table.ts';
import { REQUIRED_FILES, readDocuments, readQueries } from './documents.ts';
import { type FilledBase, filledBase } from './filled-base.ts';
import { shareOf } from './measure.ts';
import { TOP } from './workloads.ts';

/** An index to build; none: exact search. */
interface Kind {
  name: string;
  config: (rows: number) => IndexOptions['config'] | null;
  settings: readonly SizeSetting[];
}

/** Query parameters of an index. */
interface SizeSetting {
  name: string;
  apply(query: VectorQuery): VectorQuery;
}

/** Hits per query, as in the service. */
const CANDIDATES = 100;
const ADDED_AT_ONCE = 20_000;
/** A tenth of the chunks. */
const WHERE = `array_has(labels, '${fieldLabel('shelf', 'shelf-3')}')`;

const distanceType = 'cosine' as const;
const probes = (numbers: readonly number[], factors: readonly number[]): SizeSetting[] =>
  numbers.flatMap((count) =>
    factors.map((factor) => ({
      name: `nprobes ${count}, refine ${factor}`,
      apply: (query: VectorQuery) => query.nprobes(count).refineFactor(factor),
    })),
  );
/** `ef` is at least the number of hits times the factor. */
const neighbours = (pairs: readonly [ef: number, factor: number][]): SizeSetting[] =>
  pairs.map(([ef, factor]) => ({
    name: `ef ${ef}, refine ${factor}`,
    apply: (query: VectorQuery) => query.nprobes(1).ef(ef).refineFactor(factor),
  }));

const KINDS: readonly Kind[] = [
  { name: 'flat', config: () => null, settings: [{ name: '', apply: (query) => query.bypassVectorIndex() }] },
  {
    name: 'IVF_RQ',
    config: () => Index.ivfRq({ distanceType }),
    settings: probes([5, 10, 20, 40], [1, 2, 3, 5, 10]),
  },
  {
    name: 'IVF_RQ, sqrt(rows) partitions',
    config: (rows) => Index.ivfRq({ distanceType, numPartitions: Math.round(Math.sqrt(rows)) }),
    settings: probes([10, 20, 40, 80], [2, 3, 5, 10]),
  },
  {
    name: 'IVF_RQ, 4 bits',
    config: () => Index.ivfRq({ distanceType, numBits: 4 }),
    settings: probes([5, 10, 20, 40], [1, 2]),
  },
  {
    name: 'IVF_HNSW_SQ, 1 partition',
    config: () => Index.hnswSq({ distanceType, numPartitions: 1 }),
    settings: neighbours([
      [100, 1],
      [200, 1],
      [200, 2],
      [400, 2],
    ]),
  },
];

const { signal } = new AbortController();

async function queryVectors(data: string, count: number): Promise<readonly Float32Array[]> {
  const engine = createBundledEmbedding(BUNDLED_MODELS.embedding);
  const texts = readQueries(data).slice(0, count);
  const request = { texts, purpose: 'query' as const, maxTokensPerText: null, nameParam: () => 'query' };
  const { vectors } = await engine.embed(request, signal);
  await engine.close();
  return vectors;
}

/** Copies the first `rows` of the service's table, without indexes. */
async function copy(connection: Connection, { folder, baseId }: FilledBase, rows: number): Promise<Table> {
  const source = await (await connect(join(folder, 'index'))).openTable(baseId);
  const take = (from: number) =>
    source
      .query()
      .select(['id', 'labels', 'vector'])
      .offset(from)
      .limit(Math.min(ADDED_AT_ONCE, rows - from))
      .toArrow();
  const table = await connection.createTable(`rows-${rows}`, await take(0));
  for (let from = ADDED_AT_ONCE; from < rows; from += ADDED_AT_ONCE) await table.add(await take(from));
  source.close();
  return table;
}

interface Asked {
  p50Ms: number;
  p99Ms: number;
  ids: string[][];
}

async function ask(
  table: Table,
  vectors: readonly Float32Array[],
  setting: SizeSetting,
  where?: string,
): Promise<Asked> {
  const times: number[] = [];
  const ids: string[][] = [];
  for (const vector of vectors) {
    const plain = table.query().nearestTo(vector).distanceType('cosine').limit(CANDIDATES).select(['id', '_distance']);
    const query = setting.apply(where === undefined ? plain : plain.where(where));
    const began = performance.now();
    const rows: { id: string }[] = await query.toArray();
    times.push(performance.now() - began);
    ids.push(rows.slice(0, TOP).map(({ id }) => id));
  }
  times.sort((a, b) => a - b);
  return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), ids };
}

function recall(exact: readonly string[][], found: readonly string[][]): number {
  return exact.reduce((sum, ids, at) => sum + shareOf(ids, found[at] ?? []), 0) / exact.length;
}

async function build(table: Table, config: IndexOptions['config'] | null): Promise<string> {
  if (config === null || config === undefined) return '-';
  const began = performance.now();
  await table.createIndex('vector', { config, replace: true });
  return ((performance.now() - began) / 1000).toFixed(1);
}

async function sweep(table: Table, vectors: readonly Float32Array[]): Promise<void> {
  const rowCount = await table.countRows();
  const flat: SizeSetting = { name: '', apply: (query) => query.bypassVectorIndex() };
  const exact = { all: (await ask(table, vectors, flat)).ids, some: (await ask(table, vectors, flat, WHERE)).ids };
  const rows: string[][] = [];
  for (const { name, config, settings } of KINDS) {
    const seconds = await build(table, config(rowCount));
    for (const setting of settings) {
      const all = await ask(table, vectors, setting);
      const some = await ask(table, vectors, setting, WHERE);
      process.stderr.write(`${rowCount} ${name} ${setting.name}: ${all.p50Ms.toFixed(1)} ms\n`);
      rows.push([
        `${name} ${setting.name}`.trim(),
        seconds,
        ...[all.p50Ms, all.p99Ms].map((ms) => ms.toFixed(1)),
        recall(exact.all, all.ids).toFixed(3),
        ...[some.p50Ms, some.p99Ms].map((ms) => ms.toFixed(1)),
        recall(exact.some, some.ids).toFixed(3),
      ]);
    }
  }
  const columns = ['', 'build s', 'p50 ms', 'p99 ms', 'recall@10', 'filter of 10 %: p50 ms', 'p99 ms', 'recall@10'];
  console.log(`\n${renderTable({ title: `${rowCount.toLocaleString('en')} vectors`, columns, rows })}`);
}

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      data: { type: 'string' },
      sizes: { type: 'string', default: '20000,50000,200000' },
      queries: { type: 'string', default: '200' },
      folder: { type: 'string', default: join(BENCH_SCRATCH, 'retrieval') },
    },
  });
  const data = requireDataFiles(flags.data, REQUIRED_FILES);
  const sizes = flags.sizes.split(',').map(Number);
  const base = await filledBase(flags.folder, Math.max(...sizes), () => readDocuments(data));
  const vectors = await queryVectors(data, Number(flags.queries));
  const folder = await mkdtemp(join(tmpdir(), 'quire-sweep-'));
  try {
    const connection = await connect(folder);
    for (const size of sizes) await sweep(await copy(connection, base, size), vectors);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runCommand(main);
