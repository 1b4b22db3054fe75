import { lockOrganization } from '../accounts/store.ts';
import { changedFields, recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import { findRow } from '../db/find-row.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidValue, notFound } from '../errors.ts';
import { findKnowledgeBases } from '../knowledge-bases/grounding/ground-prompt.ts';
import { selectExistingBases } from '../knowledge-bases/store.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { selectMcpServer } from '../mcp-servers/store.ts';
import type { ChatPresetResource, CreateChatPreset, UpdateChatPreset } from './schema.ts';
import {
  type ChatPresetRow,
  clearDefaultPreset,
  countPresets,
  deletePresetRow,
  insertPreset,
  selectPreset,
  selectPresets,
  updatePresetOrder,
  updatePresetRow,
} from './store.ts';

/** Dependencies of the management of presets. */
export type PresetDeps = Pick<Deps, 'db' | 'now' | 'models'>;

/** Maximum number of presets per organization. */
const MAX_PRESETS = 100;

/** Whether a caller may manage presets and read their instructions. Owners and operators may. */
export const mayManagePresets = ({ role, scopes }: Caller): boolean => role === 'owner' || scopes.has('admin');

/** Appends a preset to the list. Throws 403 unless the caller is an owner, and 400 or 404 naming the field. */
export async function createPreset(deps: PresetDeps, call: Call, body: CreateChatPreset): Promise<ChatPresetResource> {
  requireManager(call);
  const { organizationId } = call.caller;
  await requireUsable(deps, call, body);
  const now = new Date(deps.now());
  const row = await changePresets(deps, call, async (sql) => {
    const position = await countPresets(sql, organizationId);
    if (position >= MAX_PRESETS)
      throw invalidValue('name', `cannot be added: ${MAX_PRESETS} presets exist; delete a preset first`);
    const created = { ...applyChanges(EMPTY, body), id: newId('chatPreset'), organizationId, position };
    const inserted: ChatPresetRow = { ...created, createdAt: now, updatedAt: now };
    if (inserted.isDefault) await clearDefaultPreset(sql, organizationId);
    await insertPreset(sql, inserted);
    const change = { action: 'chat_preset.created', organizationId, resourceId: inserted.id } as const;
    await recordChange(sql, toActor(call), change);
    return inserted;
  });
  return viewOne(deps, call, row);
}

/** Lists the presets in their order. Callers that are not owners see only published presets. */
export async function listPresets(deps: PresetDeps, call: Call, query: ListQuery) {
  const { caller } = call;
  const bounds = { ...pageBounds(query, 'chatPreset'), onlyPublished: !mayManagePresets(caller) };
  const rows = await selectPresets(deps.db.sql, caller.organizationId, bounds);
  return page(await viewPresets(deps.db.sql, caller, rows), bounds.limit);
}

/** Returns a preset. Throws 404 `chat_preset_not_found`; only owners find unpublished presets. */
export async function getPreset(deps: PresetDeps, call: Call, id: string): Promise<ChatPresetResource> {
  return viewOne(deps, call, await findChoosablePreset(deps, call, id, 'preset_id'));
}

/** Finds a preset that the caller may choose. Throws 404 naming `param`. */
export function findChoosablePreset(
  { db }: Pick<Deps, 'db'>,
  { caller }: Call,
  id: string,
  param: string,
): Promise<ChatPresetRow> {
  return findRow('chatPreset', id, param, async () => {
    const row = await selectPreset(db.sql, caller.organizationId, id);
    return row !== null && (row.isPublished || mayManagePresets(caller)) ? row : null;
  });
}

/** Changes a preset. Throws 404 `chat_preset_not_found`, and the errors of `createPreset`. */
export async function updatePreset(
  deps: PresetDeps,
  call: Call,
  id: string,
  body: UpdateChatPreset,
): Promise<ChatPresetResource> {
  requireManager(call);
  const { organizationId } = call.caller;
  await requireUsable(deps, call, body);
  const row = await changePresets(deps, call, async (sql) => {
    const before = await findRow('chatPreset', id, 'preset_id', () => selectPreset(sql, organizationId, id));
    const changed = { ...before, ...applyChanges(before, body), updatedAt: new Date(deps.now()) };
    if (changed.isDefault && !before.isDefault) await clearDefaultPreset(sql, organizationId);
    await updatePresetRow(sql, changed);
    const changes = changedFields(viewPreset(before, true), viewPreset(changed, true));
    if (body.position !== undefined) {
      changes.push({ field: 'position' });
      await movePreset(sql, changed, body.position);
    }
    await recordChange(sql, toActor(call), { action: 'chat_preset.updated', organizationId, resourceId: id, changes });
    return (await selectPreset(sql, organizationId, id)) ?? changed;
  });
  return viewOne(deps, call, row);
}

/** Deletes a preset. Chats with this preset continue without it. Throws 404, and 403 unless the caller is an owner. */
export async function deletePreset(deps: PresetDeps, call: Call, id: string) {
  requireManager(call);
  const { organizationId } = call.caller;
  await changePresets(deps, call, async (sql) => {
    await findRow('chatPreset', id, 'preset_id', () => selectPreset(sql, organizationId, id));
    await deletePresetRow(sql, id);
    await updatePresetOrder(sql, await listOtherIds(sql, organizationId, id));
    await recordChange(sql, toActor(call), { action: 'chat_preset.deleted', organizationId, resourceId: id });
  });
  return { id, object: 'chat.preset' as const, deleted: true as const };
}

function requireManager({ caller }: Call): void {
  if (!mayManagePresets(caller)) throw insufficientScope('Only owners of the organization manage its presets.');
}

/** Serializes changes within an organization, because they renumber the list and move the default. */
async function changePresets<T>({ db }: PresetDeps, { caller }: Call, change: (sql: Sql) => Promise<T>): Promise<T> {
  return db.sql.transaction(async (sql) => {
    await lockOrganization(sql, caller.organizationId);
    return change(sql);
  });
}

/** Throws 404 naming the field if the caller may not use a model, knowledge base or server. */
async function requireUsable(
  { db, models }: PresetDeps,
  call: Call,
  { model, knowledge_base_ids: bases = [], tools = [] }: UpdateChatPreset,
): Promise<void> {
  if (model != null && models.get(model)?.capabilities.chat_completion !== true)
    throw notFound('model', model, 'model');
  await findKnowledgeBases({ db }, call, bases, 'knowledge_base_ids');
  for (const [index, { server_id: id }] of tools.entries()) {
    const param = `tools.${index}.server_id`;
    if (tools.findIndex((tool) => tool.server_id === id) !== index)
      throw invalidValue(param, 'is already used by another tool');
    await findRow('mcpServer', id, param, () => selectMcpServer(db.sql, call.caller.organizationId, { id }));
  }
}

type PresetSettings = Omit<ChatPresetRow, 'id' | 'organizationId' | 'position' | 'createdAt' | 'updatedAt'>;

const EMPTY: PresetSettings = {
  name: '',
  description: null,
  model: null,
  instructions: null,
  knowledgeBaseIds: [],
  tools: [],
  parameters: {},
  isPublished: false,
  isDefault: false,
};

function applyChanges(before: PresetSettings, body: UpdateChatPreset): PresetSettings {
  return {
    name: body.name ?? before.name,
    description: body.description === undefined ? before.description : body.description || null,
    model: body.model === undefined ? before.model : body.model,
    instructions: body.instructions === undefined ? before.instructions : body.instructions || null,
    knowledgeBaseIds: body.knowledge_base_ids ?? before.knowledgeBaseIds,
    tools: body.tools ?? before.tools,
    parameters: body.parameters ?? before.parameters,
    isPublished: body.published ?? before.isPublished,
    isDefault: body.default ?? before.isDefault,
  };
}

async function movePreset(sql: Sql, { id, organizationId }: ChatPresetRow, position: number): Promise<void> {
  const others = await listOtherIds(sql, organizationId, id);
  await updatePresetOrder(sql, others.toSpliced(position, 0, id));
}

async function listOtherIds(sql: Sql, organizationId: string, id: string): Promise<string[]> {
  const all = await selectPresets(sql, organizationId, { limit: MAX_PRESETS, after: null, onlyPublished: false });
  return all.map((row) => row.id).filter((other) => other !== id);
}

async function viewOne({ db }: PresetDeps, { caller }: Call, row: ChatPresetRow): Promise<ChatPresetResource> {
  const [view] = await viewPresets(db.sql, caller, [row]);
  return view ?? viewPreset(row, false);
}

async function viewPresets(sql: Sql, caller: Caller, rows: readonly ChatPresetRow[]): Promise<ChatPresetResource[]> {
  const ids = [...new Set(rows.flatMap(({ knowledgeBaseIds }) => knowledgeBaseIds))];
  const usable = new Set(await selectExistingBases(sql, caller.organizationId, ids));
  return rows.map((row) => ({
    ...viewPreset(row, mayManagePresets(caller)),
    knowledge_base_ids: row.knowledgeBaseIds.filter((id) => usable.has(id)),
  }));
}

function viewPreset(row: ChatPresetRow, showsInstructions: boolean): ChatPresetResource {
  return {
    id: row.id,
    object: 'chat.preset',
    name: row.name,
    description: row.description,
    model: row.model,
    instructions: showsInstructions ? row.instructions : null,
    knowledge_base_ids: row.knowledgeBaseIds,
    tools: row.tools,
    parameters: row.parameters,
    published: row.isPublished,
    default: row.isDefault,
    position: row.position,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}
