import type { Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { deleteConversationRows } from './conversation-store.ts';
import { cancellation } from './event-writer.ts';
import {
  deleteOwnedResponses,
  deleteResponseRow,
  deleteResponseRows,
  type ResponseRow,
  selectResponse,
} from './store.ts';

/** Dependencies of functions that read stored responses. */
export type FindDeps = Pick<Deps, 'db' | 'now'>;

/** Returns the organization's row. Throws 404 `response_not_found` if unknown, expired or foreign. */
export async function findResponse(deps: FindDeps, { caller }: Call, id: string): Promise<ResponseRow> {
  const row = await selectResponse(deps.db.sql, caller.organizationId, id, new Date(deps.now()));
  if (row === null) throw notFound('response', id, 'response_id');
  return row;
}

/** Deletes a stored response, and stops it if it is running. Throws 404 as `findResponse` does. */
export async function deleteResponse(deps: FindDeps, { caller }: Call, id: string) {
  const isDeleted = await deleteResponseRow(deps.db.sql, caller.organizationId, id, new Date(deps.now()));
  if (!isDeleted) throw notFound('response', id, 'response_id');
  await notify(deps.db.sql, 'quire_responses', cancellation(id));
  return { id, object: 'response' as const, deleted: true as const };
}

/** Deletes all responses and conversations of an organization, and stops the responses that are running. */
export async function deleteResponses(sql: Sql, organizationId: string): Promise<void> {
  await stopResponses(sql, await deleteResponseRows(sql, organizationId));
  await deleteConversationRows(sql, organizationId);
}

/** Deletes the responses of an owner with these ids, and stops those that are running. */
export async function deleteChatResponses(sql: Sql, owner: string, ids: readonly string[]): Promise<void> {
  await stopResponses(sql, await deleteOwnedResponses(sql, owner, ids));
}

async function stopResponses(sql: Sql, ids: readonly string[]): Promise<void> {
  for (const id of ids) await notify(sql, 'quire_responses', cancellation(id));
}
