import { findRow } from '../db/find-row.ts';
import { page } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import { checkMetadata } from '../knowledge-bases/metadata.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { openCompaction } from './compaction.ts';
import type { ConversationItem } from './conversation.ts';
import type {
  AddConversationItems,
  ConversationResource,
  CreateConversation,
  UpdateConversation,
} from './conversation-schema.ts';
import {
  type ConversationRow,
  deleteConversationItem,
  deleteConversationRow,
  insertConversation,
  insertConversationItems,
  selectConversation,
  selectConversationItems,
  touchConversation,
} from './conversation-store.ts';
import type { InputItemsQuery, ResponseInputItem } from './input-items-schema.ts';
import type { InputItem } from './item-schema.ts';
import { pageItems, viewConversation } from './list-input-items.ts';
import { parseInput } from './parse-input.ts';
import { findStoredItem } from './previous-response.ts';

/** Dependencies of conversations. */
export type ConversationDeps = Pick<Deps, 'config' | 'db' | 'now' | 'secrets'>;

/** Items of one conversation, and characters of all of them as JSON: every use reads them all. */
const MAX_ITEMS = 10_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Images are checked again when a model reads them. */
const ANY_MODEL = { id: '', capabilities: { vision: true } } as const;

/** Creates a conversation. Throws 400 naming an invalid item or field. */
export async function createConversation(
  deps: ConversationDeps,
  call: Call,
  { items = [], metadata = {} }: CreateConversation,
): Promise<ConversationResource> {
  const parsed = await parseItems(deps, call, items, []);
  const now = new Date(deps.now());
  const row = {
    id: newId('conversation'),
    organizationId: call.caller.organizationId,
    createdBy: call.caller.keyId,
    metadata: JSON.stringify(checkMetadata(metadata, 'metadata')),
    createdAt: now,
    usedAt: now,
  };
  await deps.db.sql.transaction(async (sql) => {
    await insertConversation(sql, row);
    await insertConversationItems(sql, row.id, parsed);
  });
  return viewRow(row);
}

/** Returns a conversation. Throws 404 `conversation_not_found`, as all functions below do. */
export async function getConversation(deps: ConversationDeps, call: Call, id: string): Promise<ConversationResource> {
  return viewRow(await findConversation(deps, call, id));
}

/** Replaces the metadata of a conversation. */
export async function updateConversation(
  deps: ConversationDeps,
  call: Call,
  id: string,
  { metadata }: UpdateConversation,
): Promise<ConversationResource> {
  const row = await findConversation(deps, call, id);
  const changes = { metadata: JSON.stringify(checkMetadata(metadata ?? {}, 'metadata')), usedAt: new Date(deps.now()) };
  if (!(await touchConversation(deps.db.sql, row.organizationId, id, changes))) throw gone(id);
  return viewRow({ ...row, ...changes });
}

/** Deletes a conversation with its items. Responses that belong to it stay. */
export async function deleteConversation(deps: ConversationDeps, call: Call, id: string) {
  const { organizationId } = await findConversation(deps, call, id);
  if (!(await deleteConversationRow(deps.db.sql, organizationId, id))) throw gone(id);
  return { id, object: 'conversation.deleted' as const, deleted: true as const };
}

/** Lists the items of a conversation. Throws 400 for an `after` that names none of them. */
export async function listConversationItems(deps: ConversationDeps, call: Call, id: string, query: InputItemsQuery) {
  await findConversation(deps, call, id);
  return pageItems(viewConversation(deps, call, await selectConversationItems(deps.db.sql, id)), query);
}

/** Appends items to a conversation. Returns them. */
export async function addConversationItems(
  deps: ConversationDeps,
  call: Call,
  id: string,
  { items }: AddConversationItems,
) {
  const { organizationId } = await findConversation(deps, call, id);
  const added = await deps.db.sql.transaction(async (sql) => {
    // The lock serializes additions: an item may answer a call that another request adds.
    if (!(await touchConversation(sql, organizationId, id, { usedAt: new Date(deps.now()) }))) throw gone(id);
    const earlier = await selectConversationItems(sql, id);
    requireRoom(earlier, 'items');
    const parsed = await parseItems(deps, call, items, earlier);
    await insertConversationItems(sql, id, parsed);
    return parsed;
  });
  const views = viewConversation(deps, call, added);
  return page(views, views.length);
}

/** Returns an item. Throws 404 `conversation_item_not_found` as well. */
export async function getConversationItem(
  deps: ConversationDeps,
  call: Call,
  id: string,
  itemId: string,
): Promise<ResponseInputItem> {
  return (await findItem(deps, call, id, itemId)).view;
}

/** Deletes an item. Throws 404 `conversation_item_not_found` as well. */
export async function removeConversationItem(
  deps: ConversationDeps,
  call: Call,
  id: string,
  itemId: string,
): Promise<ConversationResource> {
  const { item } = await findItem(deps, call, id, itemId);
  const row = await findConversation(deps, call, id);
  await touchConversation(deps.db.sql, row.organizationId, id, { usedAt: new Date(deps.now()) });
  await deleteConversationItem(deps.db.sql, id, item.id ?? itemId);
  return viewRow(row);
}

/** Returns the items of the conversation to which a response belongs. Throws 404, and 400 when it is full. */
export async function openConversation(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  id: string,
): Promise<ConversationItem[]> {
  await findConversation(deps, call, id, 'conversation');
  const items = await selectConversationItems(deps.db.sql, id);
  requireRoom(items, 'conversation');
  return items;
}

/** Throws 400 for items that the conversation has already, naming the field. */
export function requireNewItems(
  added: readonly ConversationItem[],
  earlier: readonly ConversationItem[],
  param: string,
): void {
  const ids = new Set(earlier.map(({ id }) => id));
  for (const { id } of added) {
    if (id !== undefined && ids.has(id)) throw invalidValue(param, `has the item '${id}' twice`);
    ids.add(id);
  }
}

async function parseItems(
  deps: ConversationDeps,
  call: Call,
  items: readonly InputItem[],
  earlier: readonly ConversationItem[],
): Promise<ConversationItem[]> {
  const stored = {
    findItem: (id: string) => findStoredItem(deps, call, id),
    openCompaction: (content: string) => openCompaction(deps, call, content),
    images: { model: ANY_MODEL, allowPrivateHosts: deps.config.allowPrivateHosts },
    param: 'items',
  };
  const parsed = await parseInput([...items], earlier, stored);
  requireNewItems(parsed, earlier, 'items');
  return parsed;
}

function requireRoom(items: readonly ConversationItem[], param: string): void {
  const characters = items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
  if (items.length >= MAX_ITEMS || characters >= MAX_CHARACTERS)
    throw invalidValue(
      param,
      `cannot be added: the conversation has ${MAX_ITEMS} items or ${MAX_CHARACTERS} characters`,
    );
}

async function findConversation(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { caller }: Call,
  id: string,
  param = 'conversation_id',
): Promise<ConversationRow> {
  const select = () => selectConversation(db.sql, caller.organizationId, id, new Date(now()));
  return findRow('conversation', id, param, select);
}

async function findItem(deps: ConversationDeps, call: Call, id: string, itemId: string) {
  await findConversation(deps, call, id);
  for (const item of await selectConversationItems(deps.db.sql, id)) {
    const view = viewConversation(deps, call, [item]).find((each) => each.id === itemId);
    if (view !== undefined) return { item, view };
  }
  throw notFound('conversation_item', itemId, 'item_id');
}

const gone = (id: string) => notFound('conversation', id, 'conversation_id');

function viewRow({ id, metadata, createdAt }: ConversationRow): ConversationResource {
  return { id, object: 'conversation', created_at: toUnixSeconds(createdAt), metadata: JSON.parse(metadata) };
}
