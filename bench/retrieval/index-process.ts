import { connect, MatchQuery, type Table } from '@lancedb/lancedb';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { createBundledEmbedding } from '../../src/engines/bundled/bundled-embedding.ts';
import { parseFilters } from '../../src/knowledge-bases/retrieval/parse-filters.ts';
import { ChunkIndex } from '../../src/search/chunk-index.ts';
import { tuneVectorQuery, whereClause } from '../../src/search/chunk-table.ts';
import type { Condition } from '../../src/search/filter.ts';
import { tokenizeQuery } from '../../src/search/terms.ts';
import type {
  ExactCommand,
  ExactResult,
  IndexAnswer,
  IndexCommand,
  OpenCommand,
  OpenResult,
  WindowCommand,
  WindowResult,
} from './index-messages.ts';
import { repeat } from './repeat.ts';
import { TOP, type Way } from './workloads.ts';

/** Candidates that the service fetches by vector and by keyword (`src/knowledge-bases/retrieval/retrieve.ts`). */
const CANDIDATES: Record<Way, number> = { vector: 2 * TOP, keyword: 2 * TOP, hybrid: 100 };
/** Texts per embedding call. */
const TEXTS_OF_A_CALL = 64;

interface Opened extends OpenCommand {
  table: Table;
  index: ChunkIndex;
  vectors: readonly Float32Array[];
  /** Terms of each query. */
  words: readonly string[][];
  rows: number;
  hasVectorIndex: boolean;
}

const engine = createBundledEmbedding(BUNDLED_MODELS.embedding);
const { signal } = new AbortController();
let opened: Opened | null = null;

async function embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
  const request = { texts, purpose: 'query' as const, maxTokensPerText: null, nameParam: () => 'query' };
  return (await engine.embed(request, signal)).vectors;
}

async function open(command: OpenCommand): Promise<OpenResult> {
  const { folder, baseId, queries, languages } = command;
  const table = await (await connect(folder)).openTable(baseId);
  const vectors: Float32Array[] = [];
  for (let from = 0; from < queries.length; from += TEXTS_OF_A_CALL) {
    vectors.push(...(await embed(queries.slice(from, from + TEXTS_OF_A_CALL))));
  }
  opened = {
    ...command,
    table,
    index: await ChunkIndex.open(folder),
    vectors,
    words: queries.map((query) => tokenizeQuery(query, languages)),
    rows: await table.countRows(),
    hasVectorIndex: (await table.listIndices()).some(({ columns }) => columns.includes('vector')),
  };
  return { vectors, rows: await table.countRows() };
}

function conditionsOf(filters: Record<string, unknown> | null): Condition[] {
  return filters === null ? [] : parseFilters(filters);
}

async function exact({ table, vectors }: Opened, { filters, queries }: ExactCommand): Promise<ExactResult> {
  const where = await whereClause(table, conditionsOf(filters));
  const ids: string[][] = [];
  for (const vector of vectors.slice(0, queries)) {
    const query = table.query().nearestTo(vector).distanceType('cosine').bypassVectorIndex();
    query.limit(TOP).select(['id', '_distance']);
    const rows: { id: string }[] = await (where === null ? query : query.where(where)).toArray();
    ids.push(rows.map(({ id }) => id));
  }
  return { ids, rows: await table.countRows(where ?? undefined) };
}

/** Only the LanceDB calls of a search. */
async function ask(
  { table, rows, vectors, words, hasVectorIndex }: Opened,
  at: number,
  wanted: Wanted,
): Promise<unknown> {
  const { way, where } = wanted;
  const near = () => {
    const query = table
      .query()
      .nearestTo(vectors[at] ?? [])
      .distanceType('cosine');
    if (hasVectorIndex) tuneVectorQuery(query, { rows, limit: CANDIDATES[way] });
    query.limit(CANDIDATES[way]).select(['id', '_distance']);
    return (where === null ? query : query.where(where)).toArrow();
  };
  const matching = () => {
    const query = table.query().fullTextSearch(new MatchQuery((words[at] ?? []).join(' '), 'terms'));
    query.limit(CANDIDATES[way]).select(way === 'hybrid' ? ['id', '_score', 'vector'] : ['id', '_score']);
    return (where === null ? query : query.where(where)).toArrow();
  };
  return Promise.all([way === 'keyword' ? null : near(), way === 'vector' ? null : matching()]);
}

interface Wanted {
  way: Way;
  where: string | null;
}

async function measured(base: Opened, command: WindowCommand): Promise<WindowResult> {
  const { by, way, filters } = command;
  const conditions = conditionsOf(filters);
  const where = await whereClause(base.table, conditions);
  const { signal } = new AbortController();
  const search = async (at: number): Promise<unknown> => {
    const query = base.queries[at] ?? '';
    if (by === 'embedding') return embed([query]);
    if (by === 'lancedb') return ask(base, at, { way, where });
    return base.index.search(base.baseId, {
      vector: way === 'keyword' ? null : (base.vectors[at] ?? null),
      text: way === 'vector' ? null : query,
      languages: base.languages,
      conditions,
      limit: CANDIDATES[way],
      signal,
    });
  };
  return repeat(command, base.queries.length, async (at) => {
    const began = performance.now();
    await search(at);
    return performance.now() - began;
  });
}

async function obey(command: IndexCommand): Promise<OpenResult | ExactResult | WindowResult> {
  if (command.kind === 'open') return open(command);
  if (opened === null) throw new Error('nothing is open');
  return command.kind === 'exact' ? exact(opened, command) : measured(opened, command);
}

process.on('message', (command: IndexCommand) => {
  void obey(command)
    .then((result): IndexAnswer => ({ result }))
    .catch((error: Error): IndexAnswer => ({ error: error.stack ?? error.message }))
    .then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit(0));
