import type { Deps } from '../deps.ts';
import { invalidValue, previousResponseNotFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { type ConversationItem, toConversation } from './conversation.ts';
import { listSource } from './mcp-tools.ts';
import type { ResponseResource } from './schema.ts';
import { selectResponse, selectResponseWithItem } from './store.ts';

type StoreDeps = Pick<Deps, 'db' | 'now'>;

/**
 * Returns the conversation that `previous_response_id` continues, empty without one. Throws 400
 * `previous_response_not_found` for an id that is unknown, expired or another organization's, and 400 `invalid_value`
 * for a response that has not ended.
 */
export async function continueConversation(
  deps: StoreDeps,
  { caller }: Call,
  id: string | null,
): Promise<ConversationItem[]> {
  if (id === null) return [];
  const row = await selectResponse(deps.db.sql, caller.organizationId, id, new Date(deps.now()));
  if (row === null) throw previousResponseNotFound(id);
  if (row.status === 'queued' || row.status === 'in_progress')
    throw invalidValue('previous_response_id', 'names a response that has not ended');
  const { output, tools } = JSON.parse(row.response) as ResponseResource;
  const added = toConversation(output).map((item) => {
    if (item.type !== 'mcp_list_tools') return item;
    const server = tools.find((tool) => tool.type === 'mcp' && tool.server_label === item.serverLabel);
    return server?.type === 'mcp' ? { ...item, source: listSource(server) } : item;
  });
  return [...(JSON.parse(row.conversation) as ConversationItem[]), ...added];
}

/** Finds an output item of a stored response of the organization, for an `item_reference`; null when there is none. */
export async function findStoredItem(
  deps: StoreDeps,
  { caller }: Call,
  id: string,
): Promise<ConversationItem[] | null> {
  const row = await selectResponseWithItem(deps.db.sql, caller.organizationId, id, new Date(deps.now()));
  if (row === null) return null;
  const { output } = JSON.parse(row.response) as ResponseResource;
  return toConversation(output.filter((item) => item.id === id));
}
