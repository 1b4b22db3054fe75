import type { Sql } from '../db/db.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { type ConversationItem, toConversation } from './conversation.ts';
import { extendConversation } from './extend-conversation.ts';
import { responseMetrics } from './metrics.ts';
import type { ResponseDeps, ResponseIdentity } from './parse-call.ts';
import { prepareResponse } from './prepare-response.ts';
import { resolvePrompt } from './resolve-prompt.ts';
import type { CreateResponse, ResponseResource } from './schema.ts';
import { type ResponseRun, type SaveResponse, startResponse } from './start-response.ts';
import { insertResponse } from './store.ts';

/** Options of `createResponse`. */
export interface CreateOptions {
  /** Aborts on disconnect. */
  signal: AbortSignal;
  /** The conversation that `previous_response_id` continues; absent or null: read from the stored response. */
  earlier?: readonly ConversationItem[] | null;
  /** Called with a response that is not stored, and its whole conversation, unless it has failed. */
  keepUnstored?: (id: string, conversation: readonly ConversationItem[]) => void;
}

/** Accepts a response that its request waits for. Throws as `prepareResponse` does. */
export async function createResponse(
  deps: ResponseDeps,
  call: Call,
  request: CreateResponse,
  { signal, earlier = null, keepUnstored }: CreateOptions,
): Promise<ResponseRun> {
  const resolved = await resolvePrompt(deps, call, request);
  const prepared = await prepareResponse(deps, call, resolved, { ...newIdentity(deps), earlier });
  const { shell, conversation, earlierItems } = prepared;
  const { organizationId } = call.caller;
  const save: SaveResponse = async (response) => {
    const write = async (sql: Sql) => {
      if (shell.store) await insertResponse(sql, call.caller, response, { conversation });
      await extendConversation(sql, organizationId, response, conversation.slice(earlierItems));
    };
    await (shell.conversation == null ? write(deps.db.sql) : deps.db.sql.transaction(write));
    if (!shell.store && response.status !== 'failed')
      keepUnstored?.(response.id, [...conversation, ...toConversation(response.output)]);
    responseMetrics(deps.metrics).ended(response.status);
  };
  return startResponse(deps, prepared, { save, signal });
}

/** Id and creation time of a new response. */
export function newIdentity(deps: Pick<ResponseDeps, 'now'>): ResponseIdentity {
  return { id: newId('response'), createdAt: toUnixSeconds(deps.now()) };
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
