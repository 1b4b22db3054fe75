import { DEFAULT_RERANK_SCORE_WEIGHTS } from '../../engines/rerank-engine.ts';
import { ApiError } from '../../errors.ts';
import { type Admission, admit } from '../../inference/admission.ts';
import { rerank } from '../../inference/one-piece-calls.ts';
import { exemptInput } from '../../inference/screening.ts';
import type { Call } from '../../lib/caller.ts';
import type { RetrievalDeps } from '../retrieval/retrieve.ts';
import type { ContextChunk } from './gather-context.ts';
import { documentTokens, fenceTokens } from './render-context.ts';
import { type ChunkSentence, listSentences, type SentenceBudget, selectSentences } from './select-sentences.ts';

/**
 * From this budget on, whole chunks answer as well as selected sentences (docs/develop/decisions/0013-grounding.md).
 */
const WHOLE_CHUNKS_TOKENS = 3_000;

/** Tokens of the fences of one document with a short sentence: the smallest budget that is useful. */
const MIN_BUDGET_TOKENS = 50;

/** Sentences of the best chunk that are looked at while no reranker is ready. */
const MAX_FALLBACK_SENTENCES = 192;
/** Milliseconds that ranking may take before the first token; a slower reranker is skipped. */
const RANKING_LIMIT_MS = 5_000;
/** Scores are clamped to MIN_SCORE..1-MIN_SCORE, so that the logit stays finite. */
const MIN_SCORE = 1e-6;

/** Returns what fits into a budget of tokens. Sentences are ranked once, on the first call that needs it. */
export type FitToBudget = (budget: number) => Promise<ContextChunk[]>;

/**
 * Fits chunks, best first, into the budget of a prompt: all chunks; or the best whole chunks; or, when the budget is
 * small, the sentences that the reranker scores highest. Without a ready reranker: whole chunks in search order.
 */
export function fitTokenBudget(
  deps: RetrievalDeps,
  call: Call,
  found: readonly ContextChunk[],
  options: { query: string; signal: AbortSignal },
): FitToBudget {
  let ranking: Promise<Ranking | null> | null = null;
  return async (budget) => {
    if (budget < MIN_BUDGET_TOKENS) return [];
    const whole = wholeChunksWithin(found, budget);
    if (whole.length === found.length || (whole.length > 0 && budget >= WHOLE_CHUNKS_TOKENS)) return whole;
    ranking ??= rankSentences(deps, call, found, options);
    const ranked = await ranking;
    const room: SentenceBudget = { budget, chunkCost: fenceTokens };
    if (ranked !== null) return selectSentences(found, ranked.sentences, ranked.scores, room);
    return whole.length > 0 ? whole : takeBeginning(found.slice(0, 1), room);
  };
}

/** The chunks that fit, best first. A shorter chunk may fit where a better, longer one does not. */
export function wholeChunksWithin(chunks: readonly ContextChunk[], budget: number): ContextChunk[] {
  let remaining = budget;
  return chunks.filter((chunk) => {
    const tokens = documentTokens(chunk);
    if (tokens > remaining) return false;
    remaining -= tokens;
    return true;
  });
}

/** As many sentences as fit, from the beginning of the chunk. */
function takeBeginning(chunks: readonly ContextChunk[], room: SentenceBudget): ContextChunk[] {
  const sentences = listSentences(chunks, MAX_FALLBACK_SENTENCES);
  const scores = sentences.map((_, i) => -i);
  return selectSentences(chunks, sentences, scores, room);
}

/**
 * Ranks of sentences: the logit of the rerank score of each, plus the weighted search score of its chunk, because a
 * sentence alone often does not name its topic.
 */
export function combineScores(
  chunks: readonly ContextChunk[],
  sentences: readonly ChunkSentence[],
  scores: readonly number[],
  chunkWeight: number,
): number[] {
  return sentences.map(({ chunk }, i) => logit(scores[i] ?? 0) + chunkWeight * (chunks[chunk]?.score ?? 0));
}

function logit(score: number): number {
  const bounded = Math.min(Math.max(score, MIN_SCORE), 1 - MIN_SCORE);
  return Math.log(bounded / (1 - bounded));
}

interface Ranking {
  sentences: ChunkSentence[];
  scores: number[];
}

/** Returns null when no reranker is ready or it fails: whole chunks are used instead. */
async function rankSentences(
  deps: RetrievalDeps,
  call: Call,
  found: readonly ContextChunk[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<Ranking | null> {
  const admission = admitReranker(deps, call);
  if (admission === null) return null;
  const { maxSentences, chunkWeight } = admission.engine.weights ?? DEFAULT_RERANK_SCORE_WEIGHTS;
  const sentences = listSentences(found, maxSentences);
  if (sentences.length === 0) return null;
  const documents = sentences.map(({ text }) => text);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RANKING_LIMIT_MS)]);
  try {
    const { scores } = await rerank(deps, admission, exemptInput({ query, documents }), limited);
    return { sentences, scores: combineScores(found, sentences, scores, chunkWeight) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError || limited.aborted) return null;
    throw error;
  }
}

/** Returns null while no reranker is bound, and when the key is limited to other models. */
function admitReranker(deps: RetrievalDeps, call: Call): Admission<'rerank'> | null {
  try {
    return admit(deps, call, { kind: 'rerank' });
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
