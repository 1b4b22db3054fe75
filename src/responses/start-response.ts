import type { ApiError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import { type Notices, viewNotices } from '../inference/moderation-notice.ts';
import { describeErrorWithStack } from '../lib/operator-error.ts';
import { annotateText } from './annotate.ts';
import { NO_PROGRESS, type Outcome, ResponseEmitter } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import { responseMetrics } from './metrics.ts';
import type { PreparedResponse, ResponseDeps } from './prepare-response.ts';
import { toRequestError } from './request-fields.ts';
import { runTurns, type StartedTurn, searchResults, startTurn, type TurnLoop } from './run-turns.ts';
import type { ResponseResource } from './schema.ts';

/** Keeps a response that has ended. */
export type SaveResponse = (response: ResponseResource) => Promise<void>;

/** A response whose first prompt has been processed. */
export interface ResponseRun {
  /** Cached tokens of the first model call; null when the engine reports them only at the end. */
  cachedTokens: number | null;
  /** Notices of the model calls so far. */
  notices(): Notices;
  /**
   * The events of the response. It is saved before the last one is yielded, and when the reader stops early. The caller must read them to
   * the end or call `return()`.
   */
  events: AsyncGenerator<ResponseEvent, void, undefined>;
  /** The response at this time. */
  resource(): ResponseResource;
  /** The error of a response that failed. */
  failure(): ApiError | null;
}

/** Options of `startResponse`. */
export interface StartOptions {
  save: SaveResponse;
  signal: AbortSignal;
  /** Continues a response that another process has begun. */
  emitter?: ResponseEmitter;
}

/** Creates the emitter of a response; with `events`, one that continues after them. */
export function createEmitter(
  shell: PreparedResponse['shell'],
  events: Iterable<ResponseEvent> = [],
  progress = NO_PROGRESS,
): ResponseEmitter {
  const emitter = new ResponseEmitter(shell, (text, output) => annotateText(text, searchResults(output)));
  emitter.replay(events, progress);
  return emitter;
}

/**
 * Starts the turn loop. Resolves when the prompt of the first model call has been processed, so that earlier failures keep their HTTP
 * status and `cachedTokens` is known before the head of a stream is sent.
 */
export async function startResponse(
  deps: ResponseDeps,
  prepared: PreparedResponse,
  { save, signal, emitter = createEmitter(prepared.shell) }: StartOptions,
): Promise<ResponseRun> {
  const loop: TurnLoop = { deps, prepared, emitter, signal, notices: [prepared.input.notice] };
  emitter.progress = { ...emitter.progress, ...viewNotices([prepared.input.notice]) };
  let failure: ApiError | null = null;
  const first = await startTurn(loop).catch((error: unknown) => {
    throw toRequestError(knownError(error), prepared.functionPaths);
  });
  const failed = (error: ApiError) => {
    failure = error;
  };
  return {
    cachedTokens: first.generation.cachedTokens,
    notices: () => [...loop.notices, ...first.generation.notices()],
    events: runEvents(loop, first, save, failed),
    resource: () => emitter.resource(),
    failure: () => failure,
  };
}

async function* runEvents(
  loop: TurnLoop,
  first: StartedTurn,
  save: SaveResponse,
  failed: (error: ApiError) => void,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const { emitter, deps } = loop;
  let isEnded = false;
  const end = async (outcome: Outcome): Promise<ResponseEvent[]> => {
    isEnded = true;
    const events = emitter.end(outcome, Math.floor(deps.now() / 1000));
    await save(emitter.resource());
    return events;
  };
  const left = responseMetrics(deps.metrics).started();
  try {
    if (emitter.isNew) yield emitter.created();
    yield* await end(yield* runUntilFailure(loop, first, failed));
  } finally {
    try {
      if (!isEnded) {
        // The reader has stopped, perhaps before the first turn was read.
        await first.generation.events.return();
        await end(DISCONNECTED);
      }
    } finally {
      left();
    }
  }
}

const DISCONNECTED: Outcome = { status: 'incomplete', reason: 'client_disconnected' };

async function* runUntilFailure(
  loop: TurnLoop,
  first: StartedTurn,
  failed: (error: ApiError) => void,
): AsyncGenerator<ResponseEvent, Outcome, undefined> {
  try {
    return yield* runTurns(loop, first);
  } catch (error) {
    if (loop.signal.aborted) return DISCONNECTED;
    const known = toRequestError(knownError(error), loop.prepared.functionPaths);
    const cause = known.cause === undefined ? undefined : describeErrorWithStack(known.cause);
    loop.deps.logger.error({ response: loop.prepared.shell.id, code: known.code, cause }, 'response failed');
    failed(known);
    const { type, code, message, param } = known;
    return { status: 'failed', error: { type, code, message, param } };
  }
}
