import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, notFound } from '../../errors.ts';
import { type Call, DEFAULT_ORGANIZATION } from '../../lib/caller.ts';
import { isId, newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { parseLimits, viewLimits } from '../fields.ts';
import {
  insertOrganization,
  lockOrganization,
  lockOrganizationOfAnyState,
  markOrganizationDeleted,
  type OrganizationRow,
  selectOrganization,
  selectOrganizations,
  updateOrganizationRow,
} from '../store.ts';
import type {
  CreateOrganization,
  DeletedOrganization,
  Organization,
  OrganizationsQuery,
  UpdateOrganization,
} from './schema.ts';

/** Creates an organization. Throws 400 when the name is taken. */
export async function createOrganization(
  deps: Pick<Deps, 'db'>,
  call: Call,
  body: CreateOrganization,
): Promise<Organization> {
  const id = newId('organization');
  const { name } = body;
  return deps.db.sql.transaction(async (sql) => {
    const limits = parseLimits(body.limits ?? null);
    if (!(await insertOrganization(sql, id, name, limits))) throw nameTaken(name);
    const created = viewOrganization(requireRow(await selectOrganization(sql, id), id));
    const changes = changedValues({}, { name, limits: created.limits });
    await recordChange(sql, toActor(call), {
      action: 'organization.created',
      organizationId: id,
      resourceId: id,
      changes,
    });
    return created;
  });
}

/** An organization. Throws 404 `organization_not_found`. */
export async function findOrganization(deps: Pick<Deps, 'db'>, id: string): Promise<Organization> {
  return viewOrganization(requireRow(isOrganizationId(id) ? await selectOrganization(deps.db.sql, id) : null, id));
}

/** A page of the organizations, oldest first. */
export async function listOrganizations(deps: Pick<Deps, 'db'>, query: OrganizationsQuery) {
  const bounds = pageBounds(query, 'organization');
  const rows = await selectOrganizations(deps.db.sql, bounds, query);
  return page(rows.map(viewOrganization), bounds.limit);
}

/**
 * Changes name or limits, in all processes within a second. Throws 404 `organization_not_found`, 400 for a taken name.
 */
export async function updateOrganization(
  deps: Pick<Deps, 'db'> & { evictKeys(id: string): void },
  call: Call,
  id: string,
  body: UpdateOrganization,
): Promise<Organization> {
  const updated = await deps.db.sql.transaction(async (sql) => {
    const row = requireRow(isOrganizationId(id) ? await lockOrganization(sql, id) : null, id);
    const after = {
      ...row,
      name: body.name ?? row.name,
      limits: body.limits === undefined ? row.limits : parseLimits(body.limits),
    };
    if (!(await updateOrganizationRow(sql, after))) throw nameTaken(after.name);
    const changes = changedValues(viewOrganization(row), viewOrganization(after));
    await recordChange(sql, toActor(call), {
      action: 'organization.updated',
      organizationId: id,
      resourceId: id,
      changes,
    });
    return viewOrganization(after);
  });
  deps.evictKeys(id);
  return updated;
}

/**
 * Deletes an organization: every process rejects its keys from now on, and a background task deletes its data. Usage,
 * credit transactions and the audit log stay. May be called twice. Throws 404 `organization_not_found`, and 400 for the
 * default organization and for that of the calling key.
 */
export async function deleteOrganization(
  deps: Pick<Deps, 'db' | 'now'> & { evictKeys(id: string): void },
  call: Call,
  id: string,
): Promise<DeletedOrganization> {
  await deps.db.sql.transaction(async (sql) => {
    const row = requireRow(isOrganizationId(id) ? await lockOrganizationOfAnyState(sql, id) : null, id);
    if (row.deletedAt !== null) return;
    if (row.name === DEFAULT_ORGANIZATION)
      throw invalidValue('organization_id', 'is the id of the default organization, which cannot be deleted');
    if (id === call.caller.organizationId)
      throw invalidValue('organization_id', 'is the id of the organization of the calling key');
    await markOrganizationDeleted(sql, id, new Date(deps.now()));
    await recordChange(sql, toActor(call), {
      action: 'organization.deleted',
      organizationId: id,
      resourceId: id,
      changes: [
        { field: 'name', from: row.name },
        { field: 'balance_micros', from: row.balanceMicros },
      ],
    });
  });
  deps.evictKeys(id);
  return { id, object: 'organization', deleted: true };
}

const isOrganizationId = (id: string): boolean => isId('organization', id);

function requireRow(row: OrganizationRow | null, id: string): OrganizationRow {
  if (row === null) throw notFound('organization', id, 'organization_id');
  return row;
}

const nameTaken = (name: string) => invalidValue('name', `is taken: there is already an organization '${name}'`);

function viewOrganization(row: OrganizationRow): Organization {
  return {
    id: row.id,
    object: 'organization',
    name: row.name,
    limits: row.limits && viewLimits(row.limits),
    balance_micros: row.balanceMicros,
    created_at: toUnixSeconds(row.createdAt),
  };
}
