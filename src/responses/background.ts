import type { Sql } from '../db/db.ts';
import { followChanges } from '../db/follow-changes.ts';
import { notify } from '../db/notifications.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { storeCaller } from '../lib/stored-caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { ConversationItem } from './conversation.ts';
import { newIdentity } from './create-response.ts';
import type { ResponseEvent } from './event-schema.ts';
import { cancellation } from './event-writer.ts';
import { findResponse } from './find-response.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps } from './parse-call.ts';
import { prepareResponse } from './prepare-response.ts';
import { resolvePrompt } from './resolve-prompt.ts';
import { type BackgroundDeps, meterTokens, RUN_RESPONSE, type StoredJob, sealRequest } from './run-background.ts';
import type { CreateResponse, ResponseResource } from './schema.ts';
import { createEmitter } from './start-response.ts';
import {
  insertEvents,
  insertResponse,
  lockRunning,
  type ResponseRow,
  selectResponseEvents,
  selectStatus,
  updateEnded,
} from './store.ts';

/** How often a reader of a stream looks for events whose notification was lost. */
const POLL_MS = 1_000;

/** Options of `startBackground`. */
export interface BackgroundOptions {
  /** The estimate that the request has taken from the token limits of its key, which the run settles. Default: 0. */
  reservedTokens?: number;
  /** The chat that the response belongs to. */
  owner?: string;
  /** The conversation that the response continues; absent: read from `previous_response_id`. */
  earlier?: readonly ConversationItem[];
  /** Runs in the transaction that stores the response. */
  onStore?(sql: Sql, id: string): Promise<void>;
}

/** Validates and enqueues a background response. Throws as `prepareResponse` does. */
export async function startBackground(
  deps: BackgroundDeps,
  call: Call,
  body: CreateResponse,
  { reservedTokens = 0, owner, earlier, onStore }: BackgroundOptions = {},
): Promise<ResponseResource> {
  const identity = { ...newIdentity(deps), earlier: earlier ?? null };
  const request = await resolvePrompt(deps, call, body);
  const { shell: visible, conversation, earlierItems } = await prepareResponse(deps, call, request, identity);
  // The instructions of a chat come from its preset. Only owners of the organization may read them.
  const shell = owner === undefined ? visible : { ...visible, instructions: null };
  const response: ResponseResource = { ...createEmitter(shell).resource(), status: 'queued' };
  const { organizationId } = call.caller;
  const job: StoredJob = {
    ...sealRequest(deps, call, request),
    caller: storeCaller(call.caller),
    requestId: call.requestId,
    reservedTokens,
    earlierItems,
  };
  await deps.db.sql.transaction(async (sql) => {
    await insertResponse(sql, call.caller, response, { conversation, job, owner: owner ?? null });
    await onStore?.(sql, response.id);
    const constraints = { key: response.id, group: organizationId };
    await deps.jobs.enqueue(sql, RUN_RESPONSE, { responseId: response.id }, constraints);
  });
  return response;
}

/** Returns a stored response as it is now. */
export async function getResponse(
  deps: Pick<ResponseDeps, 'db' | 'now'>,
  call: Call,
  id: string,
): Promise<ResponseResource> {
  return readResponse(deps.db.sql, await findResponse(deps, call, id));
}

/** The response of a row, with what its events have added while it runs. */
export async function readResponse(sql: Sql, row: ResponseRow): Promise<ResponseResource> {
  const response = JSON.parse(row.response) as ResponseResource;
  if (row.status !== 'in_progress') return response;
  const { events, progress } = await selectResponseEvents(sql, row.id, -1);
  return createEmitter(response, events, progress).resource();
}

/**
 * Follows the events of a background response after a sequence number, to its end. Throws 404 `response_not_found`,
 * also when it is deleted meanwhile, and 400 for a response that does not run in the background.
 */
export async function followResponse(
  deps: Pick<ResponseDeps, 'db' | 'now'>,
  call: Call,
  { id, after }: { id: string; after: number },
  signal: AbortSignal,
): Promise<AsyncGenerator<ResponseEvent, void, undefined>> {
  const row = await findResponse(deps, call, id);
  const { background } = JSON.parse(row.response) as ResponseResource;
  if (!background) throw invalidValue('stream', 'needs a background response');
  return followEvents(deps, { id, after }, signal);
}

/** The events of a background response after a sequence number, to its end. Throws 404 when it is deleted meanwhile. */
export async function* followEvents(
  { db }: Pick<ResponseDeps, 'db'>,
  { id, after }: { id: string; after: number },
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const watched = {
    channel: 'quire_responses',
    isAbout: (payload: string) => payload.startsWith(id),
    pollMs: POLL_MS,
  } as const;
  let last = after;
  for await (const _ of followChanges(db, watched, signal)) {
    // Read before the events, so that those of a response that has ended are complete.
    const status = await selectStatus(db.sql, id);
    if (status === null) throw notFound('response', id, 'response_id');
    const { events } = await selectResponseEvents(db.sql, id, last);
    yield* events;
    last = events.at(-1)?.sequence_number ?? last;
    if (status !== 'queued' && status !== 'in_progress') return;
  }
  signal.throwIfAborted();
}

/** Dependencies of cancellations. */
export type CancelDeps = Pick<BackgroundDeps, 'db' | 'metrics' | 'now' | 'chargeTokens'>;

/**
 * Cancels a background response. One that has ended is returned unchanged. Throws 404 `response_not_found`, and 400 for
 * a response that does not run in the background.
 */
export async function cancelResponse(deps: CancelDeps, call: Call, id: string): Promise<ResponseResource> {
  const { response } = await findResponse(deps, call, id);
  if (!(JSON.parse(response) as ResponseResource).background)
    throw invalidValue('response_id', 'names a response that does not run in the background');
  await cancelRunning(deps, id);
  return getResponse(deps, call, id);
}

/** Ends a background response as cancelled, unless it has ended. */
export async function cancelRunning(deps: CancelDeps, id: string): Promise<void> {
  const cancelled = await deps.db.sql.transaction(async (sql) => {
    const row = await lockRunning(sql, id);
    if (row === null) return null;
    const { events, progress } = await selectResponseEvents(sql, id, -1);
    const emitter = createEmitter(JSON.parse(row.response) as ResponseResource, events, progress);
    const created = emitter.isNew ? [emitter.created()] : [];
    const ending = emitter.end({ status: 'cancelled', reason: 'cancelled' }, toUnixSeconds(deps.now()));
    await insertEvents(sql, id, [...created, ...ending], progress);
    await updateEnded(sql, emitter.resource(), row.owner);
    await notify(sql, 'quire_responses', cancellation(id));
    return row;
  });
  if (cancelled !== null) responseMetrics(deps.metrics).ended('cancelled');
  // A run settles its tokens itself.
  if (cancelled?.status === 'queued') meterTokens(deps, JSON.parse(cancelled.job ?? '{}') as StoredJob, 1).settle();
}
