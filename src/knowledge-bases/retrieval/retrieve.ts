import type { Deps } from '../../deps.ts';
import { DEFAULT_HYBRID_WEIGHT } from '../../engines/embedding-engine.ts';
import { DEFAULT_RERANK_SCORE_WEIGHTS } from '../../engines/rerank-engine.ts';
import { engineUnavailable, invalidValue } from '../../errors.ts';
import { admit } from '../../inference/admission.ts';
import { embed, rerank } from '../../inference/one-piece-calls.ts';
import { exemptInput } from '../../inference/screening.ts';
import type { Call } from '../../lib/caller.ts';
import { settleAll } from '../../lib/settle-all.ts';
import type { Condition } from '../../search/filter.ts';
import { VectorsDroppedError } from '../../search/search-table.ts';
import { recordActivity, requireUnexpired } from '../expiry.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { documentLanguages } from './document-languages.ts';
import { parseFilters } from './parse-filters.ts';
import { rankHits, type ScoredHit } from './rank-hits.ts';
import type { RetrieveRequest, SearchType } from './schema.ts';
import { keywordScore, passageScore, rerankedScore, type Scoring, scoreHit, vectorScore } from './score.ts';
import { indexRebuilding, isSearchable, searchIndex } from './search-index.ts';
import { type RetrievedChunkRow, selectChunks } from './store.ts';

/** Dependencies of retrieval. */
export type RetrievalDeps = Pick<
  Deps,
  'db' | 'chunks' | 'models' | 'logger' | 'reserve' | 'recordUsage' | 'metrics' | 'now'
>;

/** The components of a score, 0 to 1; null where a component was not computed. */
export interface ComponentScores {
  vector: number | null;
  keyword: number | null;
  /** Score of the search, before reranking. */
  fused: number;
  rerank: number | null;
}

/** A chunk with its score, 0 to 1. */
export type ScoredChunk = Omit<RetrievedChunkRow, 'baseFingerprint' | 'isExpired'> & {
  score: number;
  scores: ComponentScores;
};

/** Parameters of a retrieval. */
export interface Retrieval extends Pick<RetrieveRequest, 'query' | 'filters' | 'rerank_model'> {
  /** Conditions besides `filters`. */
  conditions?: readonly Condition[];
  top_k: number;
  search_type: SearchType;
  min_score: number;
  rerank: boolean;
  /** Weight of the vectors in hybrid scores, 0 to 1; that of the embedding model if absent. */
  hybrid_weight?: number;
  /**
   * Compare the passages of the best hits of a hybrid search in English documents with the query, where the engine can:
   * better first hits, some milliseconds later.
   */
  matchPassages?: boolean;
}

type LiveChunk = RetrievedChunkRow & ScoredChunk;

interface EmbeddedQuery {
  vector: Float32Array;
  hybridWeight: number;
  /** Absent: passages are not compared. */
  match?: (texts: readonly string[]) => Promise<number[]>;
}

/** Defaults of optional retrieval parameters. */
export const RETRIEVAL_DEFAULTS = { top_k: 10, search_type: 'hybrid', min_score: 0, rerank: false } as const;

/** Candidates per result, some of which may belong to deleted documents. */
const CANDIDATES_PER_RESULT = 2;
/** Minimum candidates for hybrid search and reranking: the best result may rank low in one of the lists. */
const MIN_FUSED_CANDIDATES = 100;
/** Over-fetch factor when deleted chunks leave fewer than top_k hits; capped by MAX_CANDIDATES. */
const OVERFETCH_FACTOR = 10;
const MAX_CANDIDATES = 2_000;
/** Maximum searches after the first one while documents are replaced between a search and the reading of their rows. */
const MAX_REPEATS = 8;
/** Maximum results to rerank. */
const MAX_RERANKED = 100;
/** Hits whose passages are compared. With 50 or 100 the first five are as good. */
export const MAX_MATCHED = 30;
/** Language of documents whose passages are compared: the bundled model's. In others, answers got worse by 0.01. */
export const MATCHED_LANGUAGE = 'en';
/** Retry-After while the chunks are re-embedded. */
const REEMBEDDING_RETRY_SECONDS = 30;

/**
 * Searches a knowledge base; returns the best chunks, best first. The only search function, for the route, chats and
 * responses. Throws 400 for a blank query, invalid filters and an expired knowledge base, 404 when the knowledge base
 * is deleted during the search, 503 for `vector` when no engine can embed the query like the chunks, 403 when the query
 * must be embedded and the key is limited to other models. Without such an engine, and without a readable index,
 * `hybrid` searches by keyword only.
 */
export async function retrieve(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  { signal, ...params }: Retrieval & { signal: AbortSignal },
): Promise<ScoredChunk[]> {
  if (params.query.trim() === '') throw invalidValue('query', 'must not be blank');
  requireUnexpired(base, deps.now(), 'kb_id');
  const conditions = [...parseFilters(params.filters ?? {}), ...(params.conditions ?? [])];
  const recording = recordInBackground(deps);
  const startedAt = Date.now();
  try {
    await recordActivity(deps, base);
    const result = await searchAndScore(recording.deps, call, base, { ...params, conditions, signal });
    if (!params.rerank) return result;
    const reranked = await rerankChunks(recording.deps, call, { ...params, found: result, signal });
    return reranked.filter(({ score }) => score >= params.min_score).slice(0, params.top_k);
  } catch (error) {
    // The search fails if the knowledge base and its index were deleted meanwhile: report that as 404.
    await findKnowledgeBase(deps, call.caller.organizationId, base.id);
    throw error;
  } finally {
    call.log?.addStep('search', base.name, startedAt);
    await recording.finished();
  }
}

/** Records usage in the background. `finished` resolves when all records are durable. */
function recordInBackground(deps: RetrievalDeps): { deps: RetrievalDeps; finished(): Promise<unknown> } {
  const records: Promise<void>[] = [];
  const recordUsage: RetrievalDeps['recordUsage'] = async (usage, reservation) => {
    const record = deps.recordUsage(usage, reservation);
    // Errors surface in finished(); this handler only prevents an unhandledRejection.
    record.catch(() => {});
    records.push(record);
  };
  return { deps: { ...deps, recordUsage }, finished: () => settleAll(records) };
}

async function searchAndScore(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  params: Retrieval & { conditions: readonly Condition[]; signal: AbortSignal },
): Promise<ScoredChunk[]> {
  const scoring = params.search_type === 'semantic' ? 'vector' : params.search_type;
  if (scoring === 'vector' && !isSearchable(base)) throw indexRebuilding();
  const isByKeyword = scoring === 'keyword' || !isSearchable(base);
  const embedded = isByKeyword ? null : await embedQuery(deps, call, base, params);
  if (embedded === null && scoring === 'vector' && base.chunkCount > 0) throw reEmbeddingError();
  const searchAgain = async () =>
    searchAndScore(deps, call, await findKnowledgeBase(deps, call.caller.organizationId, base.id), params);
  let result: LiveChunk[];
  try {
    result = await searchChunks(deps, base, { ...params, scoring, embedded });
  } catch (error) {
    // Searches use the vectors of another model since the knowledge base was read.
    if (error instanceof VectorsDroppedError) return searchAgain();
    throw error;
  }
  const isReplaced = ({ baseFingerprint }: LiveChunk) => baseFingerprint !== base.embeddingFingerprint;
  if (embedded !== null && result.some(isReplaced)) return searchAgain();
  if (embedded?.match === undefined || result.length === 0) return result;
  try {
    const similarities = await embedded.match(result.map(({ text }) => text));
    return rankByPassages(result, similarities).slice(0, params.top_k);
  } catch (error) {
    params.signal.throwIfAborted();
    deps.logger.warn({ error }, 'passages were not compared with the query');
    return result.slice(0, params.top_k);
  }
}

/**
 * Orders the hits by their best passages. The scores of the search stay, in the new order, so that they mean the same
 * with and without passages.
 */
function rankByPassages(found: readonly ScoredChunk[], similarities: readonly number[]): ScoredChunk[] {
  const ranks = found.map(({ scores: { vector, keyword } }, i) =>
    passageScore({ vector: vector ?? 0, keyword: keyword ?? 0 }, similarities[i] ?? 0),
  );
  const order = [...found.keys()].sort((a, b) => (ranks[b] ?? 0) - (ranks[a] ?? 0));
  return found.map(({ score }, rank) => ({ ...(found[order[rank] ?? rank] as ScoredChunk), score }));
}

/** Embeds the query; null when the chunks have vectors of another model. */
async function embedQuery(
  deps: RetrievalDeps,
  call: Call,
  base: KnowledgeBaseRow,
  { query, search_type, rerank, hybrid_weight, signal, ...params }: Retrieval & { signal: AbortSignal },
): Promise<EmbeddedQuery | null> {
  const { embeddingModel: model, embeddingFingerprint: fingerprint } = base;
  const admission = admit(deps, call, { kind: 'embedding', model, param: 'kb_id', fingerprint });
  if (base.embeddingFingerprint !== admission.engine.fingerprint()) return null;
  const request = { texts: [query], purpose: 'query', maxTokensPerText: null, nameParam: () => 'query' } as const;
  const { vectors } = await embed(deps, admission, exemptInput(request), signal);
  const [vector] = vectors;
  if (vector === undefined) return null;
  const { engine } = admission;
  const hybridWeight = hybrid_weight ?? engine.hybridWeight ?? DEFAULT_HYBRID_WEIGHT;
  const isEligible = params.matchPassages === true && search_type === 'hybrid' && !rerank && engine.matchPassages;
  const isMatched = isEligible && (await documentLanguages(deps, base))[0] === MATCHED_LANGUAGE;
  const match = (texts: readonly string[]) =>
    engine.matchPassages?.(query, texts, signal, call.caller.organizationId) ?? Promise.resolve([]);
  return { vector, hybridWeight, ...(isMatched && { match }) };
}

function reEmbeddingError() {
  return engineUnavailable(
    'The chunks of this knowledge base are being re-embedded. Keyword search is available meanwhile.',
    REEMBEDDING_RETRY_SECONDS,
  );
}

/** Searches the index and loads the rows of the best hits; searches for more when too many hits have no row. */
async function searchChunks(
  deps: RetrievalDeps,
  base: KnowledgeBaseRow,
  params: Retrieval & {
    conditions: readonly Condition[];
    scoring: Scoring;
    embedded: EmbeddedQuery | null;
    signal: AbortSignal;
  },
): Promise<LiveChunk[]> {
  const { query, scoring, embedded, conditions, signal } = params;
  const languages = await documentLanguages(deps, base);
  const minimum = scoring === 'hybrid' || params.rerank ? MIN_FUSED_CANDIDATES : 0;
  let limit = Math.max(minimum, params.top_k * CANDIDATES_PER_RESULT);
  const stale = new Set<string>();
  for (let repeats = 0, wasWidened = false; ; ) {
    const hits = await searchIndex(deps, base, {
      vector: embedded?.vector ?? null,
      vectorColumn: base.vectorColumn,
      text: scoring === 'vector' ? null : query,
      languages,
      conditions,
      limit,
      signal,
    });
    const bestHits = rankHits(hits, {
      score: (hit) =>
        embedded === null || hit.cosine === null
          ? scoreHit(hit, 'keyword', 0)
          : scoreHit(hit, scoring, embedded.hybridWeight),
      bm25Scores: (ids) => deps.chunks.bm25Scores(base.id, ids, { text: query, languages, signal }),
    });
    const { live, areMissing, staleIds } = await loadLiveChunks(deps, base.id, bestHits, params);
    const isWidened = areMissing && live.length < params.top_k && hits.length >= limit && limit < MAX_CANDIDATES;
    if (isWidened) limit = Math.min(MAX_CANDIDATES, limit * OVERFETCH_FACTOR);
    // Documents may have been replaced since the search: the index had their present chunks before their rows were.
    // A hit that two searches return without a row belongs to a deleted document, and so do most of a wider search.
    else if (repeats === MAX_REPEATS || wasWidened || staleIds.every((id) => stale.has(id))) return live;
    else repeats++;
    wasWidened = isWidened;
    for (const id of staleIds) stale.add(id);
  }
}

/**
 * Loads the rows of the best hits. Hits of deleted documents, which the index may still contain, and of expired ones
 * are replaced by the next ones. `areMissing`: more hits could give more chunks. `staleIds`: hits without rows.
 */
async function loadLiveChunks(
  deps: RetrievalDeps,
  baseId: string,
  bestHits: ReturnType<typeof rankHits>,
  params: Pick<Retrieval, 'rerank' | 'top_k' | 'min_score'> & { embedded: EmbeddedQuery | null },
): Promise<{ live: LiveChunk[]; areMissing: boolean; staleIds: string[] }> {
  const minimum = params.embedded?.match === undefined ? 0 : MAX_MATCHED;
  const count = params.rerank ? MAX_RERANKED : Math.max(params.top_k, minimum);
  const live: LiveChunk[] = [];
  const staleIds: string[] = [];
  for (let from = 0; live.length < count; from += count) {
    const next = (await bestHits(from + count)).slice(from);
    if (next.length === 0) return { live, areMissing: true, staleIds };
    // Reranking may raise any score, so min_score applies afterwards.
    const eligible = params.rerank ? next : next.filter(({ score }) => score >= params.min_score);
    if (eligible.length === 0) break;
    const ids = eligible.map(({ id }) => id);
    const rows = new Map((await selectChunks(deps.db, baseId, ids, deps.now())).map((row) => [row.id, row]));
    staleIds.push(...ids.filter((id) => !rows.has(id)));
    for (const hit of eligible) {
      const row = rows.get(hit.id);
      if (row?.isExpired === false) live.push({ ...row, score: hit.score, scores: toComponents(hit) });
    }
  }
  return { live: live.slice(0, count), areMissing: false, staleIds };
}

function toComponents({ cosine, bm25, score }: ScoredHit): ComponentScores {
  return {
    vector: cosine === null ? null : vectorScore(cosine),
    keyword: bm25 === null ? null : keywordScore(bm25),
    fused: score,
    rerank: null,
  };
}

async function rerankChunks(
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
    .map((chunk, i) => ({
      ...chunk,
      score: rerankedScore(scores[i] ?? 0, chunk.score, searchWeight),
      scores: { ...chunk.scores, rerank: scores[i] ?? 0 },
    }))
    .sort((a, b) => b.score - a.score);
}
