import { DEFAULT_RERANK_WEIGHTS } from '../../engines/rerank-engine.ts';
import { ApiError } from '../../errors.ts';
import { type Admission, admit } from '../../inference/admission.ts';
import { rerank } from '../../inference/rerank.ts';
import { exemptInput } from '../../inference/screening.ts';
import type { Call } from '../../lib/caller.ts';
import type { RetrievalDeps } from '../retrieval/retrieve.ts';
import type { ContextChunk } from './gather-context.ts';
import { documentTokens, markTokens } from './render-context.ts';
import { type ChunkSentence, type Room, rankSentences, selectSentences } from './select-sentences.ts';

/** With room for so many tokens whole chunks serve as well as sentences, and are easier to read (docs/decisions/0013-grounding.md). */
const WHOLE_CHUNKS_TOKENS = 3_000;

/** Tokens that the marks around a document and a short sentence have: less room is none. */
const LEAST_TOKENS = 50;

/** Sentences of the best chunk that are looked at while no reranker is ready. */
const MAX_FALLBACK_SENTENCES = 192;
/** Milliseconds that ranking may take before the answer begins; a reranker that is slower is done without. */
const RANKING_LIMIT_MS = 5_000;
/** A score of 0 or 1 is taken for nearly so: one score does not outweigh all others. */
const LEAST_SCORE = 1e-6;

/** Gives what of the found chunks fits into so many tokens. What is ranked for it is ranked once, however often it is asked. */
export type Fitting = (budget: number) => Promise<ContextChunk[]>;

/**
 * What of the found chunks, the best first, a prompt has room for: all of them; or the best whole ones; or, where the room is small, the
 * sentences that the reranker finds most relevant. Without a reranker that is ready, whole chunks in the order of the search.
 */
export function fittingOf(
  deps: RetrievalDeps,
  call: Call,
  found: readonly ContextChunk[],
  asked: { query: string; signal: AbortSignal },
): Fitting {
  let ranking: Promise<Ranking | null> | null = null;
  return async (budget) => {
    if (budget < LEAST_TOKENS) return [];
    const whole = wholeChunksWithin(found, budget);
    if (whole.length === found.length || (whole.length > 0 && budget >= WHOLE_CHUNKS_TOKENS)) return whole;
    ranking ??= rankingOf(deps, call, found, asked);
    const ranked = await ranking;
    const room: Room = { budget, costOf: markTokens };
    if (ranked !== null) return selectSentences(found, ranked.sentences, ranked.scores, room);
    return whole.length > 0 ? whole : beginningOf(found.slice(0, 1), room);
  };
}

/** The chunks that fit, the best first: a shorter one may fit where a better, longer one does not. */
export function wholeChunksWithin(chunks: readonly ContextChunk[], budget: number): ContextChunk[] {
  let left = budget;
  return chunks.filter((chunk) => {
    const tokens = documentTokens(chunk);
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}

/** As many sentences as fit, from the first on. */
function beginningOf(chunks: readonly ContextChunk[], room: Room): ContextChunk[] {
  const sentences = rankSentences(chunks, MAX_FALLBACK_SENTENCES);
  const scores = sentences.map((_, i) => -i);
  return selectSentences(chunks, sentences, scores, room);
}

/**
 * Ranks of sentences: the logit of the rerank score of each, plus the weighted search score of its chunk, because a
 * sentence alone often does not name its topic.
 */
export function ranksOf(
  chunks: readonly ContextChunk[],
  sentences: readonly ChunkSentence[],
  scores: readonly number[],
  chunkWeight: number,
): number[] {
  return sentences.map(({ chunk }, i) => logit(scores[i] ?? 0) + chunkWeight * (chunks[chunk]?.score ?? 0));
}

function logit(score: number): number {
  const bounded = Math.min(Math.max(score, LEAST_SCORE), 1 - LEAST_SCORE);
  return Math.log(bounded / (1 - bounded));
}

interface Ranking {
  sentences: ChunkSentence[];
  scores: number[];
}

/** Null where no reranker can be asked now: an answer from whole chunks is better than none. */
async function rankingOf(
  deps: RetrievalDeps,
  call: Call,
  found: readonly ContextChunk[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<Ranking | null> {
  // What a prompt has room for is the server's own question: no key has to allow the model.
  const admission = admitReranker(deps, { ...call, caller: { ...call.caller, models: null } });
  if (admission === null) return null;
  const { maxSentences, chunkWeight } = admission.engine.weights ?? DEFAULT_RERANK_WEIGHTS;
  const sentences = rankSentences(found, maxSentences);
  if (sentences.length === 0) return null;
  const documents = sentences.map(({ text }) => text);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(RANKING_LIMIT_MS)]);
  try {
    const { scores } = await rerank(deps, admission, exemptInput({ query, documents }), limited);
    return { sentences, scores: ranksOf(found, sentences, scores, chunkWeight) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError || limited.aborted) return null;
    throw error;
  }
}

/** Returns null while no reranker is bound. */
function admitReranker(deps: RetrievalDeps, call: Call): Admission<'rerank'> | null {
  try {
    return admit(deps, call, { kind: 'rerank' });
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
