import { lockOrganization } from '../accounts/store.ts';
import { findRow } from '../db/find-row.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidValue, notFound, readOnlyRole } from '../errors.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type {
  CreatePrompt,
  CreatePromptVersion,
  PromptListQuery,
  PromptResource,
  PromptVersionResource,
  UpdatePrompt,
} from './schema.ts';
import {
  countPrompts,
  deletePromptRow,
  insertPrompt,
  insertPromptVersion,
  lockPrompt,
  type PromptRow,
  type PromptVersionRow,
  selectPrompt,
  selectPrompts,
  selectPromptVersion,
  selectPromptVersions,
  updatePromptRow,
  type VersionedPrompt,
} from './store.ts';
import { parseVariables } from './template.ts';

type PromptDeps = Pick<Deps, 'db' | 'now'>;

/** Maximum number of prompts per author, and of versions per prompt. */
const MAX_PROMPTS = 1_000;
const MAX_VERSIONS = 1_000;

/** Creates a prompt. Throws 403 if a viewer shares it, and 400 above the limit of prompts. */
export async function createPrompt(deps: PromptDeps, { caller }: Call, body: CreatePrompt): Promise<PromptResource> {
  const { name, text, shared = false } = body;
  if (shared && caller.role === 'viewer') throw readOnlyRole();
  const { organizationId, keyId: ownerId } = caller;
  const now = new Date(deps.now());
  const id = newId('prompt');
  const created: VersionedPrompt = {
    prompt: { id, organizationId, ownerId, name, isShared: shared, latestVersion: 1, createdAt: now, updatedAt: now },
    version: { id: newId('promptVersion'), promptId: id, version: 1, text, createdBy: ownerId, createdAt: now },
  };
  await deps.db.sql.transaction(async (sql) => {
    await lockOrganization(sql, organizationId);
    if ((await countPrompts(sql, caller)) >= MAX_PROMPTS)
      throw invalidValue('name', `cannot be added: you have ${MAX_PROMPTS} prompts; delete a prompt first`);
    await insertPrompt(sql, created);
  });
  return viewPrompt(caller, created);
}

/** Lists the prompts that are visible to the caller, newest first. */
export async function listPrompts({ db }: Pick<Deps, 'db'>, { caller }: Call, query: PromptListQuery) {
  const bounds = pageBounds(query, 'prompt');
  if (query.search?.includes('\u0000')) throw invalidValue('search', 'must not contain NUL characters');
  const rows = await selectPrompts(db.sql, caller, bounds, query.search);
  return page(
    rows.map((row) => viewPrompt(caller, row)),
    bounds.limit,
  );
}

/** Finds a prompt that is visible to the caller with a version, by default the newest. */
export async function findPrompt(
  { db }: Pick<Deps, 'db'>,
  { caller }: Call,
  { id, version, params = PATH_PARAMS }: { id: string; version?: number | undefined; params?: typeof PATH_PARAMS },
): Promise<VersionedPrompt> {
  const prompt = await findRow('prompt', id, params.id, () => selectPrompt(db.sql, caller, id));
  const number = version ?? prompt.latestVersion;
  const row = await selectPromptVersion(db.sql, id, number);
  if (row === null) throw notFound('prompt_version', String(number), params.version);
  return { prompt, version: row };
}

/** Names of the request fields with the id and the version of a prompt, for errors. */
const PATH_PARAMS = { id: 'prompt_id', version: 'version' };

/** Returns a prompt. Throws 404 `prompt_not_found` or `prompt_version_not_found`. */
export async function getPrompt(
  deps: Pick<Deps, 'db'>,
  call: Call,
  id: string,
  version?: number,
): Promise<PromptResource> {
  return viewPrompt(call.caller, await findPrompt(deps, call, { id, version }));
}

/** Changes a prompt. Throws 404, and 403 unless the caller is its author or, if it is shared, an owner. */
export async function updatePrompt(
  deps: PromptDeps,
  call: Call,
  id: string,
  { name, shared }: UpdatePrompt,
): Promise<PromptResource> {
  await changePrompt(deps, call, id, async (sql, row) => {
    if (shared === true && call.caller.role === 'viewer') throw readOnlyRole();
    const changes = { name: name ?? row.name, isShared: shared ?? row.isShared, updatedAt: new Date(deps.now()) };
    await updatePromptRow(sql, id, changes);
  });
  return getPrompt(deps, call, id);
}

/** Adds a version. Throws the errors of `updatePrompt`, and 400 above the limit of versions. */
export async function createPromptVersion(
  deps: PromptDeps,
  call: Call,
  id: string,
  { text }: CreatePromptVersion,
): Promise<PromptResource> {
  const created = await changePrompt(deps, call, id, async (sql, row) => {
    const version = row.latestVersion + 1;
    if (version > MAX_VERSIONS)
      throw invalidValue('text', `cannot be added: the prompt has ${MAX_VERSIONS} versions; create another prompt`);
    const createdAt = new Date(deps.now());
    const added = { id: newId('promptVersion'), promptId: id, version, text, createdBy: call.caller.keyId, createdAt };
    await insertPromptVersion(sql, added);
    const changes = { latestVersion: version, updatedAt: createdAt };
    await updatePromptRow(sql, id, changes);
    return { prompt: { ...row, ...changes }, version: added };
  });
  return viewPrompt(call.caller, created);
}

/** Lists the versions of a prompt, newest first. */
export async function listPromptVersions({ db }: Pick<Deps, 'db'>, { caller }: Call, id: string, query: ListQuery) {
  await findRow('prompt', id, 'prompt_id', () => selectPrompt(db.sql, caller, id));
  const bounds = pageBounds(query, 'promptVersion');
  return page((await selectPromptVersions(db.sql, id, bounds)).map(viewVersion), bounds.limit);
}

/** Deletes a prompt with its versions. Throws the errors of `updatePrompt`. */
export async function deletePrompt(deps: Pick<Deps, 'db'>, call: Call, id: string) {
  await changePrompt(deps, call, id, (sql) => deletePromptRow(sql, id));
  return { id, object: 'prompt' as const, deleted: true as const };
}

/** Runs `change` in a transaction that locks the prompt. Throws 404, and 403 if the caller may not change it. */
async function changePrompt<T>(
  { db }: Pick<Deps, 'db'>,
  { caller }: Call,
  id: string,
  change: (sql: Deps['db']['sql'], row: PromptRow) => Promise<T>,
): Promise<T> {
  return db.sql.transaction(async (sql) => {
    const row = await findRow('prompt', id, 'prompt_id', () => lockPrompt(sql, caller, id));
    if (!mayEdit(caller, row))
      throw insufficientScope('Only its author and owners of the organization change a shared prompt.');
    return change(sql, row);
  });
}

/** Throws 403 for viewers, who may not change shared prompts. */
const mayEdit = ({ role, keyId, scopes }: Caller, { ownerId, isShared }: PromptRow): boolean =>
  (ownerId === keyId && !(isShared && role === 'viewer')) || (isShared && (role === 'owner' || scopes.has('admin')));

function viewPrompt(caller: Caller, { prompt, version }: VersionedPrompt): PromptResource {
  return {
    id: prompt.id,
    object: 'prompt',
    name: prompt.name,
    shared: prompt.isShared,
    created_by: prompt.ownerId,
    editable: mayEdit(caller, prompt),
    version: version.version,
    latest_version: prompt.latestVersion,
    text: version.text,
    variables: parseVariables(version.text),
    created_at: toUnixSeconds(prompt.createdAt),
    updated_at: toUnixSeconds(prompt.updatedAt),
  };
}

function viewVersion({ id, promptId, version, text, createdBy, createdAt }: PromptVersionRow): PromptVersionResource {
  return {
    id,
    object: 'prompt.version',
    prompt_id: promptId,
    version,
    text,
    variables: parseVariables(text),
    created_by: createdBy,
    created_at: toUnixSeconds(createdAt),
  };
}
