import { isDeepStrictEqual } from 'node:util';
import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { invalidValue } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { generateKey, hashKey, keyHint } from '../api-key.ts';
import { type ApiKeyRow, updateApiKey } from '../store.ts';
import {
  loadManager,
  lockManagedKey,
  requireGrantable,
  requireKnowledgeBases,
  requireLesserKey,
  requireNoNewAdmin,
  requireRevocable,
} from './key-access.ts';
import { parseProperties } from './parse-properties.ts';
import type { ApiKey, ApiKeyWithSecret, RotateKey, UpdateKey } from './schema.ts';
import { keyProperties, viewKey } from './view-key.ts';

/** Dependencies of the changes of a key. */
export type ChangeKeyDeps = AccountAdminDeps;

/**
 * Changes the fields that `body` has, in every process within a second. Throws 404 `api_key_not_found`, 400 for a
 * revoked key and as `parseProperties` does, and 403 when the key has, or would get, more rights than the caller.
 */
export async function updateKey(deps: ChangeKeyDeps, call: Call, id: string, body: UpdateKey): Promise<ApiKey> {
  const requested = parseProperties(deps, body);
  const updated = await deps.db.sql.transaction(async (sql) => {
    const row = requireNotRevoked(await lockManagedKey(sql, call.caller, id));
    await requireKnowledgeBases(deps, sql, row, body.knowledge_base_ids);
    const manager = await loadManager(sql, call.caller);
    requireLesserKey(deps, manager, row);
    const { scopes = row.scopes, models = row.models, knowledgeBaseIds = row.knowledgeBaseIds, ...others } = requested;
    const changes = {
      ...others,
      scopes: [...scopes],
      models: models === null ? null : [...models],
      knowledgeBaseIds: knowledgeBaseIds === null ? null : [...knowledgeBaseIds],
    };
    const after: ApiKeyRow = { ...row, ...changes };
    requireNoNewAdmin(call.caller, after.scopes, row.scopes);
    requireGrantable(deps, manager, after);
    await updateApiKey(sql, id, changes);
    if (!isDeepStrictEqual(row.budget, after.budget)) await deps.keySpending.forget(sql, id);
    await recordChange(sql, toActor(call), {
      action: 'api_key.updated',
      organizationId: row.organizationId,
      resourceId: id,
      changes: changedValues(keyProperties(row), keyProperties(after)),
    });
    return after;
  });
  deps.evictKeys(id);
  await deps.keySpending.awaitRevocations(deps.db.sql, id);
  return viewKey(updated, deps);
}

/**
 * Replaces the secret of a key, which keeps its id and properties. The replaced secret works for `overlap_seconds`
 * more; one that was replaced before it ends now. Throws 404 `api_key_not_found`, 400 for a revoked key, and 403 when
 * the key has more rights than the caller.
 */
export async function rotateKey(
  deps: ChangeKeyDeps,
  call: Call,
  id: string,
  { overlap_seconds: overlapSeconds = 0 }: RotateKey,
): Promise<ApiKeyWithSecret> {
  const secret = generateKey();
  const rotated = await deps.db.sql.transaction(async (sql) => {
    const row = requireNotRevoked(await lockManagedKey(sql, call.caller, id));
    requireLesserKey(deps, await loadManager(sql, call.caller), row);
    const changes = {
      hash: hashKey(secret),
      hint: keyHint(secret),
      previousHash: overlapSeconds === 0 ? null : row.hash,
      previousExpiresAt: overlapSeconds === 0 ? null : new Date(deps.now() + overlapSeconds * 1000),
    };
    await updateApiKey(sql, id, changes);
    await recordChange(sql, toActor(call), {
      action: 'api_key.rotated',
      organizationId: row.organizationId,
      resourceId: id,
      changes: [{ field: 'key' }, { field: 'overlap_seconds', to: overlapSeconds }],
    });
    return { ...row, ...changes };
  });
  deps.evictKeys(id);
  return { ...viewKey(rotated, deps), key: secret };
}

/**
 * Revokes a key. May be called twice. Throws 404 `api_key_not_found`, 403 if the key has scopes that the caller lacks.
 */
export async function revokeKey(deps: ChangeKeyDeps, call: Call, id: string): Promise<ApiKey> {
  const revoked = await deps.db.sql.transaction(async (sql) => {
    const row = await lockManagedKey(sql, call.caller, id);
    requireRevocable(await loadManager(sql, call.caller), row);
    if (row.revokedAt !== null) return row;
    const changes = { revokedAt: new Date(deps.now()) };
    await updateApiKey(sql, id, changes);
    const { organizationId } = row;
    await recordChange(sql, toActor(call), { action: 'api_key.revoked', organizationId, resourceId: id });
    return { ...row, ...changes };
  });
  deps.evictKeys(id);
  return viewKey(revoked, deps);
}

function requireNotRevoked(row: ApiKeyRow): ApiKeyRow {
  if (row.revokedAt !== null) throw invalidValue('key_id', 'is the id of a revoked key');
  return row;
}
