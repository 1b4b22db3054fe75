import type { Deps } from '../deps.ts';
import type { ModerationEngine, ModerationScores } from '../engines/moderation-engine.ts';
import type { ModelLookup } from '../engines/registry.ts';
import { ApiError, engineUnavailable } from '../errors.ts';
import { KINDS } from './call-kinds.ts';
import { ScoreCache } from './score-cache.ts';

/** A policy waits this long for the moderation model. */
const TIMEOUT_MS = 30_000;
const RETRY_SECONDS = 5;
/** Maximum characters of a call that shares a request to the engine with others. */
const MAX_SHARED_CHARACTERS = 4_096;
/** Maximum characters of a shared request: a few milliseconds of work. */
const MAX_REQUEST_CHARACTERS = 32_768;

/** A call that waits for the next request to the engine. */
interface WaitingCall {
  texts: readonly string[];
  characters: number;
  resolve: (scores: ModerationScores[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Scores texts with the default moderation model for content policies. The calls are not metered. Short calls of one
 * organization that arrive during a request to the engine share the next one: a request costs as much as the scores of
 * some hundred characters. Texts that were scored before are not scored again.
 */
export function policyScorer(models: ModelLookup): Deps['scoreTexts'] {
  /** Calls by organization; an entry exists while a request of the organization runs. */
  const waiting = new Map<string, WaitingCall[]>();

  const cache = new ScoreCache();

  function boundEngine(): ModerationEngine {
    // The registry holds whole engines; `ModelView` hides the methods that compute from everything but `inference/`.
    const engine = models.get(KINDS.moderation.defaultModel ?? '')?.moderation as ModerationEngine | undefined;
    if (engine === undefined) throw engineUnavailable('No moderation model is bound.', RETRY_SECONDS);
    return engine;
  }

  async function moderate(texts: readonly string[], organizationId: string): Promise<ModerationScores[]> {
    const { scores } = await withTimeout((signal) => boundEngine().moderate(texts, signal, organizationId));
    return scores;
  }

  async function answer(request: readonly WaitingCall[], organizationId: string): Promise<void> {
    try {
      const texts = request.flatMap((call) => call.texts);
      const scores = [...(await moderate(texts, organizationId))];
      for (const call of request) call.resolve(scores.splice(0, call.texts.length));
    } catch (error) {
      // A text that the engine rejects fails its own call only.
      const isShared = request.length > 1 && error instanceof ApiError && error.status === 400;
      if (isShared) for (const call of request) await answer([call], organizationId);
      else for (const call of request) call.reject(error);
    }
  }

  async function runRequests(organizationId: string, calls: WaitingCall[]): Promise<void> {
    while (calls.length > 0) await answer(takeRequest(calls), organizationId);
    waiting.delete(organizationId);
  }

  function score(texts: readonly string[], organizationId: string): Promise<ModerationScores[]> {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (characters > MAX_SHARED_CHARACTERS) return moderate(texts, organizationId);
    return new Promise((resolve, reject) => {
      const call = { texts, characters, resolve, reject };
      const queue = waiting.get(organizationId);
      if (queue !== undefined) {
        queue.push(call);
        return;
      }
      const calls = [call];
      waiting.set(organizationId, calls);
      void runRequests(organizationId, calls);
    });
  }

  return async (texts, organizationId) =>
    cache.get(boundEngine(), organizationId, texts, (missing) => score(missing, organizationId));
}

/** Aborts `run` after `TIMEOUT_MS`. `AbortSignal.timeout` would retain completed calls in memory until then. */
async function withTimeout<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const timeout = new AbortController();
  const abort = () => timeout.abort(new DOMException('the moderation model did not answer in time', 'TimeoutError'));
  const timer = setTimeout(abort, TIMEOUT_MS);
  try {
    return await run(timeout.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Removes the calls of the next request from the front of the queue: at least one. */
function takeRequest(calls: WaitingCall[]): WaitingCall[] {
  let characters = 0;
  const end = calls.findIndex((call, index) => {
    characters += call.characters;
    return index > 0 && characters > MAX_REQUEST_CHARACTERS;
  });
  return calls.splice(0, end < 0 ? calls.length : end);
}
