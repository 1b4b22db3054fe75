import type { Deps } from '../deps.ts';
import { type ApiError, serverError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import type { Call } from '../lib/caller.ts';
import { restoreCaller, type StoredCaller } from '../lib/stored-caller.ts';
import { defineJob } from '../queue/define-job.ts';
import type { ConversationItem } from './conversation.ts';
import type { Outcome, ResponseEmitter } from './emitter.ts';
import { EventWriter, ResponseGone } from './event-writer.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps } from './parse-call.ts';
import { type PreparedResponse, prepareResponse } from './prepare-response.ts';
import type { CreateResponse, ResponseResource } from './schema.ts';
import { createEmitter, startResponse } from './start-response.ts';
import { beginResponseRun, type ResponseRow, selectResponseEvents } from './store.ts';

/** Background responses that one process runs concurrently; those of one organization leave slots to others. */
const CONCURRENT_RESPONSES = 32;
const RESPONSES_PER_ORGANIZATION = 24;
/** Runs of one response that a crash or a stop may interrupt; a response that crashes its process must not do so for ever. */
const MAX_ATTEMPTS = 20;

/** Runs a background response. */
export const RUN_RESPONSE = defineJob<{ responseId: string }>({
  name: 'run-response',
  concurrency: CONCURRENT_RESPONSES,
  perGroup: RESPONSES_PER_ORGANIZATION,
  retries: 100,
  retrySeconds: 1,
});

/** What a background response runs with: column `job` as JSON. */
export interface StoredJob {
  request: CreateResponse;
  caller: StoredCaller;
  requestId: string;
  /** Estimated tokens that the request has taken from the token limits of its key. Absent in jobs of older versions. */
  reservedTokens?: number;
}

/** Dependencies of background responses. */
export type BackgroundDeps = RunDeps & Pick<Deps, 'jobs'>;

type RunDeps = ResponseDeps & Pick<Deps, 'chargeTokens'>;

/**
 * Runs a background response to its end. A run that follows a crash continues after the last finished turn: items that were interrupted
 * end as `incomplete`, and the turn is repeated. Throws the reason of `signal` when the process stops; the job is then run again.
 */
export async function runBackground(deps: RunDeps, responseId: string, signal: AbortSignal): Promise<void> {
  const row = await beginResponseRun(deps.db.sql, responseId);
  if (row === null || row.job === null) return;
  const job = JSON.parse(row.job) as StoredJob;
  const tokens = meterTokens(deps, job, row.attempts);
  const { events, progress } = await selectResponseEvents(deps.db.sql, row.id, -1);
  const emitter = createEmitter(JSON.parse(row.response) as ResponseResource, events, progress);
  const writer = new EventWriter(deps.db, row.id, () => emitter.progress);
  try {
    for (const event of emitter.isNew ? [emitter.created()] : emitter.interrupt()) writer.add(event);
    const failure =
      row.attempts > MAX_ATTEMPTS
        ? serverError()
        : await runTurnsOf(deps, row, { job, tokens, emitter, writer, signal });
    signal.throwIfAborted();
    if (failure !== null) {
      for (const event of emitter.end(failedOutcome(failure), Math.floor(deps.now() / 1000))) writer.add(event);
    }
    const response = emitter.resource();
    await writer.end(response);
    responseMetrics(deps.metrics).ended(response.status);
  } catch (error) {
    if (!(error instanceof ResponseGone)) throw error;
  } finally {
    await writer.close();
    if (!signal.aborted) tokens.settle();
  }
}

/** Counts tokens of a run. */
export interface TokenMeter {
  count(tokens: number): void;
  /** Returns estimated tokens that were not used. */
  settle(): void;
}

/**
 * Counts tokens against the limits of the key. The estimate, which the request has taken, covers the first ones. A run that follows an
 * interrupted one does not know how much of the estimate is left, and charges everything.
 */
export function meterTokens(
  { chargeTokens }: Pick<Deps, 'chargeTokens'>,
  { caller, reservedTokens = 0 }: StoredJob,
  attempts: number,
): TokenMeter {
  const holder = restoreCaller(caller);
  let covered = attempts > 1 ? 0 : reservedTokens;
  return {
    count: (tokens) => {
      const charged = Math.max(0, tokens - covered);
      covered = Math.max(0, covered - tokens);
      if (charged > 0) chargeTokens(holder, charged);
    },
    settle: () => {
      if (covered > 0) chargeTokens(holder, -covered);
      covered = 0;
    },
  };
}

interface Running {
  job: StoredJob;
  tokens: TokenMeter;
  emitter: ResponseEmitter;
  writer: EventWriter;
  signal: AbortSignal;
}

/** Runs the turn loop. Returns the error that kept it from starting; null when it has ended the response. */
async function runTurnsOf(
  deps: ResponseDeps,
  row: ResponseRow,
  { job, tokens, emitter, writer, signal }: Running,
): Promise<ApiError | null> {
  const stopped = AbortSignal.any([signal, writer.lost]);
  const call: Call = {
    caller: restoreCaller(job.caller),
    requestId: job.requestId,
    endpoint: '/v1/responses',
    priority: 'interactive',
    countTokens: tokens.count,
  };
  const run = await startStored(deps, { row, job, call, emitter }, stopped).catch((error: unknown) => {
    stopped.throwIfAborted();
    return knownError(error);
  });
  if (run instanceof Error) return run;
  for await (const event of run.events) {
    stopped.throwIfAborted();
    writer.add(event);
  }
  stopped.throwIfAborted();
  return null;
}

interface Stored {
  row: ResponseRow;
  job: StoredJob;
  call: Call;
  emitter: ResponseEmitter;
}

async function startStored(deps: ResponseDeps, { row, job, call, emitter }: Stored, signal: AbortSignal) {
  const conversation = JSON.parse(row.conversation) as ConversationItem[];
  const createdAt = Math.floor(row.createdAt.getTime() / 1000);
  const prepared: PreparedResponse = await prepareResponse(deps, call, job.request, {
    id: row.id,
    createdAt,
    conversation,
  });
  return startResponse(deps, prepared, { save: async () => {}, signal, emitter });
}

function failedOutcome({ type, code, message, param }: ApiError): Outcome {
  return { status: 'failed', error: { type, code, message, param } };
}
