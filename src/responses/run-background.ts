import type { Deps } from '../deps.ts';
import { type ApiError, serverError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import { CallLog } from '../lib/call-log.ts';
import type { Call } from '../lib/caller.ts';
import { restoreCaller, type StoredCaller } from '../lib/stored-caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { defineJob } from '../queue/define-job.ts';
import type { ConversationItem } from './conversation.ts';
import type { ResponseEmitter } from './emitter.ts';
import { EventWriter, ResponseGone } from './event-writer.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps } from './parse-call.ts';
import { prepareResponse } from './prepare-response.ts';
import type { CreateResponse, ResponseResource } from './schema.ts';
import { createEmitter, failedOutcome, type ResponseRun, startResponse } from './start-response.ts';
import { beginResponseRun, type ResponseRow, selectResponseEvents } from './store.ts';
import { loadImages } from './stored-images.ts';

/** Background responses that one process runs concurrently; those of one organization leave slots to others. */
const CONCURRENT_RESPONSES = 32;
const RESPONSES_PER_ORGANIZATION = 24;
/** Maximum interrupted runs of a response: one that crashes its process must not do so for ever. */
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
  /** Tools of a request with MCP servers, encrypted: they may have credentials. */
  sealedTools?: string;
  caller: StoredCaller;
  requestId: string;
  /** Estimated tokens that the request has taken from the token limits of its key. Absent in jobs of older versions. */
  reservedTokens?: number;
  /** Items of the conversation from before the request. Absent in jobs of older versions. */
  earlierItems?: number;
}

/** Dependencies of background responses. */
export type BackgroundDeps = RunDeps & Pick<Deps, 'jobs'>;

type RunDeps = ResponseDeps & Pick<Deps, 'blobs' | 'chargeTokens' | 'logCall'>;

/** A completed background response with its caller. */
export interface EndedResponse {
  response: ResponseResource;
  /** Id of the chat of the response, or null. */
  owner: string | null;
  caller: StoredCaller;
}

/**
 * Runs a background response, then calls `onEnded`. After a crash, continues after the last completed turn: interrupted
 * items become `incomplete`, and the turn is repeated. Throws the reason of `signal` when the process stops; the job is
 * then retried.
 */
export async function runBackground(
  deps: RunDeps,
  responseId: string,
  signal: AbortSignal,
  onEnded?: (ended: EndedResponse) => Promise<void>,
): Promise<void> {
  const row = await beginResponseRun(deps.db.sql, responseId);
  if (row === null || row.job === null) return;
  const job = JSON.parse(row.job) as StoredJob;
  const tokens = meterTokens(deps, job, row.attempts);
  const log = new CallLog();
  // Chats are visible only to their owners, so their contents are never recorded.
  log.isPrivate = row.owner !== null;
  const { events, progress } = await selectResponseEvents(deps.db.sql, row.id, -1);
  const emitter = createEmitter(JSON.parse(row.response) as ResponseResource, events, progress);
  const writer = new EventWriter(deps.db, row.id, () => emitter.progress);
  try {
    for (const event of emitter.isNew ? [emitter.created()] : emitter.interrupt()) writer.add(event);
    const stopped = AbortSignal.any([signal, writer.lost]);
    const run =
      row.attempts > MAX_ATTEMPTS
        ? serverError()
        : await startStored(deps, row, { job, tokens, emitter, log }, stopped);
    const events = run instanceof Error ? emitter.end(failedOutcome(run), toUnixSeconds(deps.now())) : run.events;
    for await (const event of events) {
      stopped.throwIfAborted();
      writer.add(event);
    }
    stopped.throwIfAborted();
    const response = emitter.resource();
    await writer.end(response);
    responseMetrics(deps.metrics).ended(response.status);
    logRun(deps, job, log, run);
    await onEnded?.({ response, owner: row.owner, caller: job.caller });
  } catch (error) {
    if (!(error instanceof ResponseGone)) throw error;
  } finally {
    await writer.close();
    if (!signal.aborted) tokens.settle();
  }
}

/** Replaces the entry of the request that enqueued the run: the answer to it named no model and no tokens. */
function logRun(
  deps: RunDeps,
  { caller, requestId, request: body }: StoredJob,
  log: CallLog,
  run: ResponseRun | ApiError,
): void {
  const failure = run instanceof Error ? run : run.failure();
  if (failure !== null) log.fail(failure);
  const { organizationId, keyId } = caller;
  const entry = { requestId, route: '/v1/responses', organizationId, keyId, isBatch: false, body };
  const status = failure?.status ?? 200;
  deps.logCall({ ...entry, log, status, durationMs: Date.now() - log.startedAt, traceId: log.traceId });
}

/** Counts tokens of a run. */
export interface TokenMeter {
  count(tokens: number): void;
  /** Returns estimated tokens that were not used. */
  settle(): void;
}

/**
 * Counts tokens against the limits of the key. The estimate, which the request has taken, covers the first ones. A run
 * that follows an interrupted one does not know how much of the estimate is left, and charges everything.
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

/** The request as a job stores it. */
export function sealRequest(
  { secrets }: Pick<Deps, 'secrets'>,
  { caller }: Call,
  request: CreateResponse,
): Pick<StoredJob, 'request' | 'sealedTools'> {
  if (request.tools?.some(({ type }) => type === 'mcp') !== true) return { request };
  const { tools, ...others } = request;
  return { request: others, sealedTools: secrets.seal(JSON.stringify(tools), toolsOwner(caller.organizationId)) };
}

const toolsOwner = (organizationId: string): string => `tools of ${organizationId}`;

function openRequest({ secrets }: Pick<Deps, 'secrets'>, { request, sealedTools, caller }: StoredJob): CreateResponse {
  if (sealedTools === undefined) return request;
  const tools = JSON.parse(secrets.open(sealedTools, toolsOwner(caller.organizationId))) as CreateResponse['tools'] &
    object;
  return { ...request, tools };
}

interface StoredRun {
  job: StoredJob;
  tokens: TokenMeter;
  emitter: ResponseEmitter;
  log: CallLog;
}

/** Starts the turn loop. Returns the error of a request that is not accepted any more. */
async function startStored(
  deps: ResponseDeps & Pick<Deps, 'blobs'>,
  row: ResponseRow,
  { job, tokens, emitter, log }: StoredRun,
  signal: AbortSignal,
): Promise<ResponseRun | ApiError> {
  const call: Call = {
    caller: restoreCaller(job.caller),
    requestId: job.requestId,
    endpoint: '/v1/responses',
    priority: 'interactive',
    countTokens: tokens.count,
    log,
  };
  const conversation = JSON.parse(row.conversation) as ConversationItem[];
  const identity = { id: row.id, createdAt: toUnixSeconds(row.createdAt), conversation };
  try {
    const prepared = await prepareResponse(deps, call, openRequest(deps, job), identity);
    const shown = await loadImages(deps, call.caller, prepared.conversation, signal);
    return startResponse(deps, { ...prepared, conversation: shown }, { save: async () => {}, signal, emitter });
  } catch (error) {
    signal.throwIfAborted();
    return knownError(error);
  }
}
