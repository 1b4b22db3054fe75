import type { Deps } from '../../deps.ts';
import { DEFAULT_HYBRID_WEIGHT } from '../../engines/embedding-engine.ts';
import { DEFAULT_RERANK_SCORE_WEIGHTS } from '../../engines/rerank-engine.ts';
import { engineUnavailable, invalidValue } from '../../errors.ts';
import { admit } from '../../inference/admission.ts';
import { embed } from '../../inference/embed.ts';
import { rerank } from '../../inference/rerank.ts';
import { exemptInput } from '../../inference/screening.ts';
import type { Call } from '../../lib/caller.ts';
import { settleAll } from '../../lib/settle-all.ts';
import type { Condition } from '../../search/filter.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { bestHits } from './best-hits.ts';
import { languagesOfBase } from './languages-of-base.ts';
import { parseFilters } from './parse-filters.ts';
import type { RetrieveRequest, SearchType } from './schema.ts';
import { rerankedScore, type Scoring, scoreOf } from './score.ts';
import { requireIndex, searchIndex } from './search-index.ts';
import { type ChunkRow, selectChunks } from './store.ts';

/** What retrieval needs of the dependencies. */
export type RetrievalDeps = Pick<Deps, 'db' | 'chunks' | 'models' | 'logger' | 'recordUsage' | 'metrics' | 'now'>;

/** A chunk with its score, 0 to 1. */
export type ScoredChunk = Omit<ChunkRow, 'baseFingerprint'> & { score: number };

/** What to find in a knowledge base. */
export interface Retrieval extends Pick<RetrieveRequest, 'query' | 'filters' | 'rerank_model'> {
  top_k: number;
  search_type: SearchType;
  min_score: number;
  rerank: boolean;
}

type LiveChunk = ChunkRow & { score: number };

interface EmbeddedQuery {
  vector: Float32Array;
  hybridWeight: number;
}

/** What is not said of a retrieval. */
export const RETRIEVAL_DEFAULTS = { top_k: 10, search_type: 'hybrid', min_score: 0, rerank: false } as const;

/** Candidates for each result that is wanted: those of deleted documents must leave enough. */
const CANDIDATES_PER_RESULT = 2;
/** Where two lists are merged or a reranker judges, at least so many: the best may stand far down in one of them. */
const MIN_JUDGED_CANDIDATES = 100;
/** Where so many are deleted that the others are too few, it is looked for so many times as many, and for so many at most. */
const MORE_CANDIDATES = 10;
const MAX_CANDIDATES = 2_000;
/** Results that are reranked. */
const MAX_RERANKED = 100;
/** Another model embeds the chunks again by then, or a caller asks again. */
const REEMBEDDING_RETRY_SECONDS = 30;

/**
 * The best chunks of the knowledge base for the query, the best first. The only way to search one: for its route, for chats and for
 * responses. Throws 400 for a blank query and for filters that are none, 404 where it is deleted meanwhile, 503 for `vector` while another model's vectors are made,
 * and 403 for a key limited to models without the one that embeds, unless only words are compared.
 */
export async function retrieve(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  { signal, ...wanted }: Retrieval & { signal: AbortSignal },
): Promise<ScoredChunk[]> {
  if (wanted.query.trim() === '') throw invalidValue('query', 'must not be blank');
  const conditions = parseFilters(wanted.filters ?? {});
  const meanwhile = recordingMeanwhile(deps);
  try {
    const found = await find(meanwhile.deps, call, base, { ...wanted, conditions, signal });
    if (!wanted.rerank) return found;
    const judged = await reranked(meanwhile.deps, call, { ...wanted, found, signal });
    return judged.filter(({ score }) => score >= wanted.min_score).slice(0, wanted.top_k);
  } catch (error) {
    // Its index goes with it, and whoever searches that meanwhile finds it broken.
    await findKnowledgeBase(deps, call.caller.organizationId, base.id);
    throw error;
  } finally {
    await meanwhile.recorded();
  }
}

/** Has usage written while the work that it is of goes on: `recorded` resolves when all of it is durable. */
function recordingMeanwhile(deps: RetrievalDeps): { deps: RetrievalDeps; recorded(): Promise<unknown> } {
  const records: Promise<void>[] = [];
  const recordUsage: RetrievalDeps['recordUsage'] = async (usage) => {
    const record = deps.recordUsage(usage);
    // Whoever waits for it is told; until then it is no error that nobody handles.
    record.catch(() => {});
    records.push(record);
  };
  return { deps: { ...deps, recordUsage }, recorded: () => settleAll(records) };
}

async function find(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  wanted: Retrieval & { conditions: readonly Condition[]; signal: AbortSignal },
): Promise<ScoredChunk[]> {
  requireIndex(base);
  const scoring = scoringOf(wanted.search_type);
  const embedded = scoring === 'keyword' ? null : await embedQuery(deps, call, base, wanted);
  if (embedded === null && scoring === 'vector' && base.chunkCount > 0) throw beingEmbedded();
  const found = await searched(deps, base, { ...wanted, scoring, embedded });
  // Another model's vectors have come into the index since the knowledge base was looked at: its words are all that can be compared.
  const isMixed =
    embedded !== null && found.some(({ baseFingerprint }) => baseFingerprint !== base.embeddingFingerprint);
  return isMixed ? find(deps, call, { ...base, embeddingFingerprint: null }, wanted) : found;
}

function scoringOf(type: SearchType): Scoring {
  return type === 'semantic' ? 'vector' : type;
}

/** Null where the chunks' vectors are another model's: they say nothing of this one's. */
async function embedQuery(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<EmbeddedQuery | null> {
  const admission = admit(deps, call, { kind: 'embedding', model: base.embeddingModel, param: 'kb_id' });
  if (base.embeddingFingerprint !== admission.engine.fingerprint()) return null;
  const request = { texts: [query], purpose: 'query', maxTokensPerText: null, paramOf: () => 'query' } as const;
  const { vectors } = await embed(deps, admission, exemptInput(request), signal);
  const [vector] = vectors;
  return vector === undefined ? null : { vector, hybridWeight: admission.engine.hybridWeight ?? DEFAULT_HYBRID_WEIGHT };
}

function beingEmbedded() {
  return engineUnavailable(
    'The chunks of this knowledge base are being embedded by another model. Keyword search works meanwhile.',
    REEMBEDDING_RETRY_SECONDS,
  );
}

/** The best chunks that index and database have. Where deleted ones have left too few, the index is asked for more. */
async function searched(
  deps: RetrievalDeps,
  base: KnowledgeBaseRow,
  wanted: Retrieval & { conditions: readonly Condition[]; scoring: Scoring; embedded: EmbeddedQuery | null },
): Promise<LiveChunk[]> {
  const { query, scoring, embedded, conditions } = wanted;
  const languages = await languagesOfBase(deps, base);
  const least = scoring === 'hybrid' || wanted.rerank ? MIN_JUDGED_CANDIDATES : 0;
  let limit = Math.max(least, wanted.top_k * CANDIDATES_PER_RESULT);
  for (;;) {
    const hits = await searchIndex(deps, base, {
      vector: embedded?.vector ?? null,
      text: scoring === 'vector' ? null : query,
      languages,
      conditions,
      limit,
    });
    const best = bestHits(hits, {
      scoreOf: (hit) => (embedded === null ? scoreOf(hit, 'keyword', 0) : scoreOf(hit, scoring, embedded.hybridWeight)),
      bm25Of: (ids) => deps.chunks.bm25Of(base.id, ids, { text: query, languages }),
    });
    const { live, areMissing } = await liveChunks(deps, base.id, best, wanted);
    const isEnough = !areMissing || live.length >= wanted.top_k;
    if (isEnough || hits.length < limit || limit >= MAX_CANDIDATES) return live;
    limit = Math.min(MAX_CANDIDATES, limit * MORE_CANDIDATES);
  }
}

/**
 * The best of the hits that the database has, as many as are wanted or reranked: the index may still hold some of documents that are
 * gone. Rows are read as many as are wanted, and more only where some are gone. `areMissing` says that more hits might give more.
 */
async function liveChunks(
  deps: RetrievalDeps,
  baseId: string,
  best: ReturnType<typeof bestHits>,
  wanted: Pick<Retrieval, 'rerank' | 'top_k' | 'min_score'>,
): Promise<{ live: LiveChunk[]; areMissing: boolean }> {
  const most = wanted.rerank ? MAX_RERANKED : wanted.top_k;
  const live: LiveChunk[] = [];
  for (let from = 0; live.length < most; from += most) {
    const next = (await best(from + most)).slice(from);
    if (next.length === 0) return { live, areMissing: true };
    // A reranker may raise any score; without one what is below can be left unread.
    const eligible = wanted.rerank ? next : next.filter(({ score }) => score >= wanted.min_score);
    if (eligible.length === 0) break;
    const ids = eligible.map(({ id }) => id);
    const rows = new Map((await selectChunks(deps.db, baseId, ids)).map((row) => [row.id, row]));
    for (const { id, score } of eligible) {
      const row = rows.get(id);
      if (row !== undefined) live.push({ ...row, score });
    }
  }
  return { live: live.slice(0, most), areMissing: false };
}

async function reranked(
  deps: RetrievalDeps,
  call: Call,
  { query, rerank_model, found, signal }: Retrieval & { found: ScoredChunk[]; signal: AbortSignal },
): Promise<ScoredChunk[]> {
  if (found.length === 0) return [];
  const admission = admit(deps, call, { kind: 'rerank', model: rerank_model, param: 'rerank_model' });
  const documents = found.map(({ text }) => text);
  const { scores } = await rerank(deps, admission, exemptInput({ query, documents }), signal);
  const { searchWeight } = admission.engine.weights ?? DEFAULT_RERANK_SCORE_WEIGHTS;
  return found
    .map((chunk, i) => ({ ...chunk, score: rerankedScore(scores[i] ?? 0, chunk.score, searchWeight) }))
    .sort((a, b) => b.score - a.score);
}
