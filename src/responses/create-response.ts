import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
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
  return { id: newId('response'), createdAt: Math.floor(deps.now() / 1000) };
}

function saveWhenAsked(deps: ResponseDeps, { caller }: Call, { shell, conversation }: PreparedResponse): SaveResponse {
  const insert = (response: ResponseResource) =>
    insertResponse(deps.db.sql, {
      id: response.id,
      organizationId: caller.organizationId,
      status: response.status,
      response: JSON.stringify(response),
      conversation: JSON.stringify(conversation),
      itemIds: response.output.map(({ id }) => id),
      createdAt: new Date(response.created_at * 1000),
    });
  return async (response) => {
    if (shell.store) await insert(response);
    responseMetrics(deps.metrics).ended(response.status);
  };
}

/**
 * Reads a response to its end. Throws the error of a failed first model call, which the client may retry; a later failure leaves a
 * response with the status `failed`.
 */
export async function collectResponse(run: ResponseRun): Promise<ResponseResource> {
  for await (const _event of run.events);
  const failure = run.failure();
  if (failure !== null) throw failure;
  return run.resource();
}
