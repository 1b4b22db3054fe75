import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { missingField, notFound } from '../../errors.ts';
import { type Call, type Caller, SCOPES } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { addKey } from '../add-key.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { selectOrganization } from '../store.ts';
import {
  loadManager,
  type Manager,
  mayManage,
  requireGrantable,
  requireKnowledgeBases,
  requireNoNewAdmin,
  UNRESTRICTED,
} from './key-access.ts';
import { type KeyProperties, parseProperties } from './parse-properties.ts';
import type { ApiKeyWithSecret, CreateKey } from './schema.ts';
import { keyProperties, viewKey } from './view-key.ts';

/** Scopes of a key unless the request names some. */
export const DEFAULT_SCOPES = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'keys');

/**
 * Creates an API key and returns it with its secret, which is not stored. Throws 404 `organization_not_found`, 400 and
 * 404 as `parseProperties` does, and 403 for rights that the caller lacks.
 */
export async function createKey(
  deps: Pick<AccountAdminDeps, 'db' | 'bindings' | 'config' | 'now' | 'existingKnowledgeBases'>,
  call: Call,
  body: CreateKey,
): Promise<ApiKeyWithSecret> {
  const { caller } = call;
  const organizationId = requireOrganizationId(caller, body.organization_id);
  const requested = parseProperties(deps, body);
  return deps.db.sql.transaction(async (sql) => {
    if ((await selectOrganization(sql, organizationId)) === null) throw organizationNotFound(organizationId);
    await requireKnowledgeBases(deps, sql, { organizationId }, body.knowledge_base_ids);
    const manager = await loadManager(sql, caller);
    const properties = { ...defaultProperties(manager), ...requested };
    requireNoNewAdmin(caller, properties.scopes, []);
    requireGrantable(deps, manager, properties);
    const { row, secret } = await addKey(sql, { organizationId, ...properties });
    const changes = changedValues({}, keyProperties(row));
    await recordChange(sql, toActor(call), { action: 'api_key.created', organizationId, resourceId: row.id, changes });
    return { ...viewKey(row, deps), key: secret };
  });
}

/** Another organization is as unknown as one that does not exist. */
function requireOrganizationId(caller: Caller, requested: string | undefined): string {
  const id = requested ?? caller.organizationId;
  // The operator has no organization.
  if (id === '') throw missingField('organization_id');
  if (!isId('organization', id) || !mayManage(caller, id)) throw organizationNotFound(id);
  return id;
}

const organizationNotFound = (id: string) => notFound('organization', id, 'organization_id');

/** A manager without `admin` passes its restrictions on. */
function defaultProperties(manager: Manager): KeyProperties {
  const name = 'key';
  if (manager.isAdmin) {
    return { name, scopes: DEFAULT_SCOPES, ...UNRESTRICTED };
  }
  const { models, knowledgeBaseIds, limits, budget, expiresAt } = manager.own;
  const scopes = DEFAULT_SCOPES.filter((scope) => manager.own.scopes.includes(scope));
  return { name, scopes, models, knowledgeBaseIds, limits, budget, expiresAt };
}
