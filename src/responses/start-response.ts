import type { ApiError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import { type Notices, viewNotices } from '../inference/moderation-notice.ts';
import { describeCause } from '../lib/operator-error.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { McpConnections } from '../mcp-servers/mcp-connections.ts';
import { annotateText } from './annotate.ts';
import { type Annotate, NO_PROGRESS, type Outcome, ResponseEmitter } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps } from './parse-call.ts';
import type { PreparedResponse } from './prepare-response.ts';
import { toRequestError } from './request-fields.ts';
import { runTurns, type TurnLoop } from './run-turns.ts';
import type { ResponseResource } from './schema.ts';
import { searchResults } from './turn-prompt.ts';

/** Keeps a response that has ended. */
export type SaveResponse = (response: ResponseResource) => Promise<void>;

/** A response that has been accepted. */
export interface ResponseRun {
  /** Notices of the input and of the model calls that have ended. */
  notices(): Notices;
  /**
   * The events of the response: the first one at once, and the first model call after it. The response is saved before
   * the last one is yielded, and when the reader stops early. The caller must read them to the end or call `return()`.
   */
  events: AsyncGenerator<ResponseEvent, void, undefined>;
  /** The response at this time. */
  resource(): ResponseResource;
  /** The error of a response whose first model call failed: nothing of it is of use to the client. */
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
  const annotate: Annotate = (text, output) => annotateText(text, searchResults(output, emitter.resultShare));
  const emitter = new ResponseEmitter(shell, annotate);
  emitter.replay(events, progress);
  return emitter;
}

/** Starts a response. The turn loop runs while its events are read. */
export function startResponse(
  deps: ResponseDeps,
  prepared: PreparedResponse,
  { save, signal, emitter = createEmitter(prepared.shell) }: StartOptions,
): ResponseRun {
  const { notice } = prepared.input;
  const mcp = new McpConnections(deps.config.allowPrivateHosts);
  const loop: TurnLoop = { deps, prepared, emitter, mcp, signal, notices: [notice], hasCompletedTurn: false };
  emitter.progress = { ...emitter.progress, ...viewNotices([notice]) };
  let failure: ApiError | null = null;
  const failed = (error: ApiError) => {
    if (!loop.hasCompletedTurn) failure = error;
  };
  return {
    notices: () => loop.notices,
    events: runEvents(loop, save, failed),
    resource: () => emitter.resource(),
    failure: () => failure,
  };
}

async function* runEvents(
  loop: TurnLoop,
  save: SaveResponse,
  failed: (error: ApiError) => void,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const { emitter, deps } = loop;
  let isEnded = false;
  const end = async (outcome: Outcome): Promise<ResponseEvent[]> => {
    isEnded = true;
    const events = emitter.end(outcome, toUnixSeconds(deps.now()));
    await save(emitter.resource());
    return events;
  };
  const left = responseMetrics(deps.metrics).started();
  try {
    if (emitter.isNew) yield emitter.created();
    yield* await end(yield* runUntilFailure(loop, failed));
  } finally {
    try {
      // The reader has stopped.
      if (!isEnded) await end(DISCONNECTED);
    } finally {
      await loop.mcp.close();
      left();
    }
  }
}

const DISCONNECTED: Outcome = { status: 'incomplete', reason: 'client_disconnected' };

async function* runUntilFailure(
  loop: TurnLoop,
  failed: (error: ApiError) => void,
): AsyncGenerator<ResponseEvent, Outcome, undefined> {
  try {
    return yield* runTurns(loop);
  } catch (error) {
    if (loop.signal.aborted) return DISCONNECTED;
    const failure = toRequestError(knownError(error), loop.prepared.functionPaths);
    if (failure.status >= 500)
      loop.deps.logger.error(
        { response: loop.prepared.shell.id, code: failure.code, cause: describeCause(failure) },
        'response failed',
      );
    failed(failure);
    return failedOutcome(failure);
  }
}

/** The outcome of a response that has failed. */
export function failedOutcome({ type, code, message, param }: ApiError): Outcome {
  return { status: 'failed', error: { type, code, message, param } };
}
