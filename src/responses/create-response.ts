import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps, ResponseIdentity } from './parse-call.ts';
import { type PreparedResponse, prepareResponse } from './prepare-response.ts';
import type { CreateResponse, ResponseResource } from './schema.ts';
import { type ResponseRun, type SaveResponse, startResponse } from './start-response.ts';
import { insertResponse } from './store.ts';

/** Accepts a response that its request waits for. Throws as `prepareResponse` does; `signal` aborts on disconnect. */
export async function createResponse(
  deps: ResponseDeps,
  call: Call,
  request: CreateResponse,
  signal: AbortSignal,
): Promise<ResponseRun> {
  const prepared = await prepareResponse(deps, call, request, newIdentity(deps));
  return startResponse(deps, prepared, { save: saveWhenAsked(deps, call, prepared), signal });
}

/** Id and creation time of a new response. */
export function newIdentity(deps: Pick<ResponseDeps, 'now'>): ResponseIdentity {
  return { id: newId('response'), createdAt: toUnixSeconds(deps.now()) };
}

function saveWhenAsked(deps: ResponseDeps, { caller }: Call, { shell, conversation }: PreparedResponse): SaveResponse {
  return async (response) => {
    if (shell.store) await insertResponse(deps.db.sql, caller.organizationId, response, { conversation });
    responseMetrics(deps.metrics).ended(response.status);
  };
}

/**
 * Reads a response to its end. Throws the error of a failed first model call, which the client may retry; a later
 * failure leaves a response with the status `failed`.
 */
export async function collectResponse(run: ResponseRun): Promise<ResponseResource> {
  for await (const _event of run.events);
  const failure = run.failure();
  if (failure !== null) throw failure;
  return run.resource();
}
