import { lockOrganization } from '../accounts/store.ts';
import { changedFields, recordChange, toActor } from '../audit/record-change.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { CreateMcpServer, McpServerResource, UpdateMcpServer } from './schema.ts';
import { parseServerHeaders, parseServerUrl, type ServerCredentials } from './server-settings.ts';
import {
  countMcpServers,
  deleteMcpServerRow,
  insertMcpServer,
  lockMcpServer,
  type McpServerRow,
  selectMcpServer,
  selectMcpServers,
  updateMcpServerRow,
} from './store.ts';

/** Servers of one organization: a list that people read. */
const MAX_SERVERS = 100;

/** Dependencies of registered servers. */
export type McpServerDeps = Pick<Deps, 'db' | 'now' | 'secrets'>;

/** Registers a server. Throws 400 naming the field, also for a label that the organization has given already. */
export async function registerMcpServer(
  deps: McpServerDeps,
  call: Call,
  body: CreateMcpServer,
): Promise<McpServerResource> {
  const { organizationId } = call.caller;
  const id = newId('mcpServer');
  const now = new Date(deps.now());
  const row: McpServerRow = {
    id,
    organizationId,
    label: body.label,
    url: parseUrl(body.url),
    description: requireText(body.description ?? null),
    ...sealHeaders(deps, id, body),
    allowedTools: body.allowed_tools ?? null,
    requireApproval: body.require_approval ?? 'always',
    createdAt: now,
    updatedAt: now,
  };
  await deps.db.sql.transaction(async (sql) => {
    await lockOrganization(sql, organizationId);
    if ((await countMcpServers(sql, organizationId)) >= MAX_SERVERS)
      throw invalidValue('label', `cannot be added: ${MAX_SERVERS} servers exist; delete a server first`);
    if (!(await insertMcpServer(sql, row))) throw labelTaken();
    await recordChange(sql, toActor(call), { action: 'mcp_server.created', organizationId, resourceId: id });
  });
  return viewMcpServer(row);
}

/** Returns a server of the organization. Throws 404 `mcp_server_not_found`. */
export async function getMcpServer(deps: Pick<Deps, 'db'>, call: Call, id: string): Promise<McpServerResource> {
  return viewMcpServer(requireServer(await selectMcpServer(deps.db.sql, call.caller.organizationId, { id }), id));
}

/** A page of the organization's servers. */
export async function listMcpServers(deps: Pick<Deps, 'db'>, { caller }: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'mcpServer');
  const rows = await selectMcpServers(deps.db.sql, caller.organizationId, bounds);
  return page(rows.map(viewMcpServer), bounds.limit);
}

/**
 * Changes the fields that `body` has. Throws 404 `mcp_server_not_found`, and 400 as `registerMcpServer` does, also for
 * another host without its headers: those that are stored must not be sent to it.
 */
export async function updateMcpServer(
  deps: McpServerDeps,
  call: Call,
  id: string,
  body: UpdateMcpServer,
): Promise<McpServerResource> {
  const { organizationId } = call.caller;
  return deps.db.sql.transaction(async (sql) => {
    const row = requireServer(await lockMcpServer(sql, organizationId, id), id);
    const url = body.url === undefined ? row.url : parseUrl(body.url);
    const hasHeaders = body.headers !== undefined || body.authorization !== undefined;
    if (!hasHeaders && row.sealedHeaders !== null && new URL(url).origin !== new URL(row.url).origin)
      throw invalidValue('url', "names another host; send 'headers' or 'authorization' with it");
    const changed: McpServerRow = {
      ...row,
      url,
      label: body.label ?? row.label,
      description: body.description === undefined ? row.description : requireText(body.description),
      ...(hasHeaders && sealHeaders(deps, id, body)),
      allowedTools: body.allowed_tools === undefined ? row.allowedTools : body.allowed_tools,
      requireApproval: body.require_approval ?? row.requireApproval,
      updatedAt: new Date(deps.now()),
    };
    const other = await selectMcpServer(sql, organizationId, { label: changed.label });
    if (other !== null && other.id !== id) throw labelTaken();
    await updateMcpServerRow(sql, changed);
    const changes = changedFields(viewMcpServer(row), viewMcpServer(changed));
    if (hasHeaders && !changes.some(({ field }) => field === 'header_names')) changes.push({ field: 'headers' });
    await recordChange(sql, toActor(call), { action: 'mcp_server.updated', organizationId, resourceId: id, changes });
    return viewMcpServer(changed);
  });
}

/** Deletes a server. Throws 404 `mcp_server_not_found`. */
export async function deleteMcpServer(deps: Pick<Deps, 'db'>, call: Call, id: string) {
  const { organizationId } = call.caller;
  await deps.db.sql.transaction(async (sql) => {
    requireServer(await lockMcpServer(sql, organizationId, id), id);
    await deleteMcpServerRow(sql, id);
    await recordChange(sql, toActor(call), { action: 'mcp_server.deleted', organizationId, resourceId: id });
  });
  return { id, object: 'mcp_server', deleted: true } as const;
}

function requireServer(row: McpServerRow | null, id: string): McpServerRow {
  if (row === null) throw notFound('mcp_server', id, 'server_id');
  return row;
}

const labelTaken = () => invalidValue('label', 'is the label of another server of your organization');

function parseUrl(address: string): string {
  return parseServerUrl(address, 'url').href;
}

/** The database cannot hold NUL characters. */
function requireText(text: string | null): string | null {
  if (text?.includes('\u0000')) throw invalidValue('description', 'must not contain NUL characters');
  return text;
}

function sealHeaders(
  { secrets }: Pick<Deps, 'secrets'>,
  id: string,
  credentials: ServerCredentials,
): Pick<McpServerRow, 'headerNames' | 'sealedHeaders'> {
  const headers = parseServerHeaders(credentials, '');
  const headerNames = Object.keys(headers);
  return { headerNames, sealedHeaders: headerNames.length === 0 ? null : secrets.seal(JSON.stringify(headers), id) };
}

function viewMcpServer(row: McpServerRow): McpServerResource {
  return {
    id: row.id,
    object: 'mcp_server',
    label: row.label,
    url: row.url,
    description: row.description,
    header_names: row.headerNames,
    allowed_tools: row.allowedTools,
    require_approval: row.requireApproval,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}
