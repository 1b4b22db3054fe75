import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { isId } from '../lib/ids.ts';
import type { ResponseResource } from './schema.ts';
import { deleteResponseRow, type ResponseRow, selectResponse } from './store.ts';

type FindDeps = Pick<Deps, 'db' | 'now'>;

/** Returns the organization's row. Throws 404 `response_not_found` for one that is unknown, expired or another organization's. */
export async function findResponse(deps: FindDeps, { caller }: Call, id: string): Promise<ResponseRow> {
  const row = isId('response', id)
    ? await selectResponse(deps.db.sql, caller.organizationId, id, new Date(deps.now()))
    : null;
  if (row === null) throw notFound('response', id, 'response_id');
  return row;
}

/** Returns a stored response as it was created. */
export async function getResponse(deps: FindDeps, call: Call, id: string): Promise<ResponseResource> {
  const row = await findResponse(deps, call, id);
  return JSON.parse(row.response) as ResponseResource;
}

/** Deletes a stored response. Throws 404 as `findResponse` does. */
export async function deleteResponse(deps: FindDeps, { caller }: Call, id: string) {
  const isDeleted =
    isId('response', id) && (await deleteResponseRow(deps.db.sql, caller.organizationId, id, new Date(deps.now())));
  if (!isDeleted) throw notFound('response', id, 'response_id');
  return { id, object: 'response' as const, deleted: true as const };
}
