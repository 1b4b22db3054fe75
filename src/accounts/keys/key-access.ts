import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { insufficientScope, invalidApiKey, notFound } from '../../errors.ts';
import { type Caller, OPERATOR } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { type ApiKeyRow, lockApiKey, selectApiKey } from '../store.ts';
import { type ExcessRight, findExcessRight, findExcessScope, type KeyRights } from './key-rights.ts';

/**
 * Who manages keys: operator and scope `admin` without bounds, keys and users with scope `keys` within their rights.
 */
export type Manager = { name: string } & ({ isAdmin: true } | { isAdmin: false; own: ManagerRights });

/** What a manager may pass on. */
export type ManagerRights = Pick<
  ApiKeyRow,
  'scopes' | 'models' | 'knowledgeBaseIds' | 'limits' | 'budget' | 'expiresAt'
>;

/** Properties of a key without restrictions. */
export const UNRESTRICTED = { models: null, knowledgeBaseIds: null, limits: null, budget: null, expiresAt: null };

/** The manager behind a request. The rights of its key are read again: they may have been reduced a moment ago. */
export async function loadManager(sql: Sql, caller: Caller): Promise<Manager> {
  if (caller.scopes.has('admin')) return { isAdmin: true, name: 'The operator' };
  // The rights of a user were read for this request.
  if (caller.role !== undefined)
    return { isAdmin: false, own: { ...UNRESTRICTED, scopes: [...caller.scopes] }, name: 'Your role' };
  const own = await selectApiKey(sql, caller.keyId);
  if (own === null || own.revokedAt !== null) throw invalidApiKey('This API key has been revoked.');
  return { isAdmin: false, own, name: 'The calling key' };
}

/** Whether a caller may know of an organization: its own, or any with the scope `admin`. */
export function mayManage(caller: Caller, organizationId: string): boolean {
  return caller.scopes.has('admin') || caller.organizationId === organizationId;
}

/** A key that the caller may know of. Throws 404 `api_key_not_found`. */
export async function findManagedKey(sql: Sql, caller: Caller, id: string): Promise<ApiKeyRow> {
  return requireManaged(isId('apiKey', id) ? await selectApiKey(sql, id) : null, caller, id);
}

/** Like `findManagedKey`, locked against other writers until the transaction ends. */
export async function lockManagedKey(sql: Sql, caller: Caller, id: string): Promise<ApiKeyRow> {
  return requireManaged(isId('apiKey', id) ? await lockApiKey(sql, id) : null, caller, id);
}

function requireManaged(row: ApiKeyRow | null, caller: Caller, id: string): ApiKeyRow {
  if (row === null || !mayManage(caller, row.organizationId)) throw notFound('api_key', id, 'key_id');
  return row;
}

/**
 * Throws 403 `insufficient_scope` naming `scopes.N` when a request would give the scope `admin` to a key that lacks it.
 * Only the operator's commands do: a leaked key with the scope `admin` must not create others that survive its
 * revocation.
 */
export function requireNoNewAdmin(caller: Caller, scopes: readonly string[], before: readonly string[]): void {
  if (caller === OPERATOR || !scopes.includes('admin') || before.includes('admin')) return;
  const message = "The scope 'admin' is given by the command 'quire keys create' only.";
  throw insufficientScope(message, `scopes.${scopes.indexOf('admin')}`);
}

/**
 * Throws 404 naming `knowledge_base_ids.N` for an id that the caller may not use or that the organization of the key
 * lacks. Ids that the key has already stay: their knowledge bases may have been deleted.
 */
export async function requireKnowledgeBases(
  deps: Pick<AccountAdminDeps, 'existingKnowledgeBases'>,
  sql: Sql,
  { organizationId, knowledgeBaseIds: before = null }: { organizationId: string; knowledgeBaseIds?: string[] | null },
  ids: readonly string[] | null | undefined,
): Promise<void> {
  if (ids == null) return;
  const wellFormed = ids.filter((id) => isId('knowledgeBase', id));
  const accepted = [...(before ?? []), ...(await deps.existingKnowledgeBases(sql, organizationId, wellFormed))];
  const index = ids.findIndex((id) => !accepted.includes(id));
  if (index >= 0) throw notFound('knowledge_base', ids[index] ?? '', `knowledge_base_ids.${index}`);
}

/** Throws 403 `insufficient_scope` naming the field if a manager without `admin` would give rights that it lacks. */
export function requireGrantable(deps: Pick<Deps, 'config'>, manager: Manager, wanted: KeyRights): void {
  if (manager.isAdmin) return;
  const excess = findExcessRight(wanted, manager.own, deps.config.rateLimits);
  if (excess !== null) throw insufficientScope(describeExcess(manager, excess), excess.param);
}

/** Throws 403 `insufficient_scope` if a manager without `admin` would change a key with more rights than its own. */
export function requireLesserKey(deps: Pick<Deps, 'config'>, manager: Manager, row: ApiKeyRow): void {
  if (manager.isAdmin) return;
  const excess = findExcessRight(row, manager.own, deps.config.rateLimits);
  if (excess !== null)
    throw insufficientScope(`The key '${row.id}' has more rights. ${describeExcess(manager, excess)}`, 'key_id');
}

/** Like `requireLesserKey` for a revocation, which takes no rights: only the scopes are compared. */
export function requireRevocable(manager: Manager, row: ApiKeyRow): void {
  const excess = manager.isAdmin ? null : findExcessScope(row.scopes, manager.own.scopes);
  if (excess !== null)
    throw insufficientScope(`The key '${row.id}' has more rights. ${describeExcess(manager, excess)}`, 'key_id');
}

const describeExcess = ({ name }: Manager, { predicate }: ExcessRight): string => `${name} ${predicate}.`;
