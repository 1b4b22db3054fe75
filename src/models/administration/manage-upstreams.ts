import { changedFields, recordChange, toActor } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import { parseEndpoints } from '../../engines/upstream/base-url.ts';
import { checkFeatures, checkServers } from '../../engines/upstream/check-server.ts';
import { invalidValue, notFound } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { incrementVersion } from '../bindings/store.ts';
import { openKey } from '../upstreams/merge-upstreams.ts';
import {
  deleteUpstreamRow,
  insertUpstream,
  selectUpstreams,
  type UpstreamRow,
  updateUpstreamRow,
} from '../upstreams/store.ts';
import type { UpstreamAdminDeps } from './admin-deps.ts';
import type {
  CreateUpstream,
  TestUpstream,
  UpdateUpstream,
  UpstreamResource,
  UpstreamTest,
} from './upstream-schema.ts';
import { configuredUpstreams, viewUpstream } from './view-upstreams.ts';

/** Servers of one instance: a list that people read. */
const MAX_UPSTREAMS = 100;
/** Query parameters of base URLs that hold no secrets, which the list would show. */
const QUERY_PARAMETERS: ReadonlySet<string> = new Set(['api-version']);

/** Returns all servers in one page. Servers of the configuration file come first. */
export async function listUpstreams(deps: UpstreamAdminDeps) {
  const stored = await selectUpstreams(deps.db.sql);
  return {
    object: 'list' as const,
    data: [...configuredUpstreams(deps), ...stored.servers.map((row) => viewUpstream(deps.models, row, stored.models))],
  };
}

/** Returns a server of the API. Throws 404 `upstream_not_found`. */
export async function getUpstream(deps: UpstreamAdminDeps, id: string): Promise<UpstreamResource> {
  const { servers, models } = await selectUpstreams(deps.db.sql);
  return viewUpstream(deps.models, requireUpstream(servers, id), models);
}

/** Adds a server. Throws 400 naming the field. */
export async function createUpstream(
  deps: UpstreamAdminDeps,
  call: Call,
  body: CreateUpstream,
): Promise<UpstreamResource> {
  const id = newId('upstream');
  const now = new Date(deps.now());
  const row: UpstreamRow = {
    id,
    name: requireName(body.name),
    protocol: body.protocol ?? 'openai',
    baseUrls: body.base_urls.map(parseBaseUrl),
    sealedApiKey: sealKey(deps, id, body.api_key ?? null),
    createdAt: now,
    updatedAt: now,
  };
  await deps.db.sql.transaction(async (sql) => {
    // Its row lock serializes all changes of servers and bindings.
    await incrementVersion(sql, false);
    if ((await selectUpstreams(sql)).servers.length >= MAX_UPSTREAMS)
      throw invalidValue('name', `cannot be added: ${MAX_UPSTREAMS} servers exist; delete a server first`);
    if (!(await insertUpstream(sql, row))) throw nameTaken();
    await recordChange(sql, toActor(call), { action: 'upstream.created', organizationId: '', resourceId: id });
  });
  await deps.bindings.refresh();
  return viewUpstream(deps.models, row, []);
}

/**
 * Changes the fields that `body` has; all processes apply them. Throws 404 `upstream_not_found`, and 400 as
 * `createUpstream` does, also for another host without a key: the stored one must not be sent to it.
 */
export async function updateUpstream(
  deps: UpstreamAdminDeps,
  call: Call,
  id: string,
  body: UpdateUpstream,
): Promise<UpstreamResource> {
  const baseUrls = body.base_urls?.map(parseBaseUrl);
  const changed = await deps.db.sql.transaction(async (sql) => {
    await incrementVersion(sql, false);
    const { servers, models } = await selectUpstreams(sql);
    const before = requireUpstream(servers, id);
    if (body.api_key === undefined && before.sealedApiKey !== null && hasNewHost(before.baseUrls, baseUrls))
      throw invalidValue('base_urls', "names another host; send 'api_key' with it");
    const row: UpstreamRow = {
      ...before,
      name: body.name === undefined ? before.name : requireName(body.name),
      protocol: body.protocol ?? before.protocol,
      baseUrls: baseUrls ?? before.baseUrls,
      ...(body.api_key !== undefined && { sealedApiKey: sealKey(deps, id, body.api_key) }),
      updatedAt: new Date(deps.now()),
    };
    if (servers.some((other) => other.name === row.name && other.id !== id)) throw nameTaken();
    await updateUpstreamRow(sql, row);
    const view = (one: UpstreamRow) => viewUpstream(deps.models, one, models);
    const changes = changedFields(view(before), view(row)).filter(({ field }) => field !== 'servers');
    if (body.api_key !== undefined) changes.push({ field: 'api_key' });
    await recordChange(sql, toActor(call), { action: 'upstream.updated', organizationId: '', resourceId: id, changes });
    return { row, models };
  });
  await deps.bindings.refresh();
  return viewUpstream(deps.models, changed.row, changed.models);
}

/** Deletes a server. Throws 404 `upstream_not_found`, and 400 while a model id is bound to it. */
export async function deleteUpstream(deps: UpstreamAdminDeps, call: Call, id: string) {
  await deps.db.sql.transaction(async (sql) => {
    await incrementVersion(sql, false);
    const { servers, models } = await selectUpstreams(sql);
    const row = requireUpstream(servers, id);
    const { models: bound } = viewUpstream(deps.models, row, models);
    if (bound.length > 0) throw invalidValue('upstream_id', `serves ${bound.join(', ')}; bind them to others first`);
    await deleteUpstreamRow(sql, id);
    await recordChange(sql, toActor(call), { action: 'upstream.deleted', organizationId: '', resourceId: id });
  });
  return { id, object: 'upstream', deleted: true } as const;
}

/**
 * Requests the models of a server, and three short completions of a model if one is named. Throws 404
 * `upstream_not_found`; a server that fails is a result.
 */
export async function testUpstream(
  deps: UpstreamAdminDeps,
  id: string,
  { model = null }: TestUpstream,
  signal: AbortSignal,
): Promise<UpstreamTest> {
  const { config, logger } = deps;
  const row = requireUpstream((await selectUpstreams(deps.db.sql)).servers, id);
  const { baseUrls, protocol } = row;
  const access = { baseUrls, protocol, apiKey: openKey(row, deps), proxy: config.proxy, logger };
  const { servers, models } = await checkServers(access, signal);
  const tested = model === null ? { contextLength: null, features: [] } : await checkFeatures(access, model, signal);
  return {
    object: 'upstream_test',
    servers: servers.map(({ url, latencyMs, error }) => ({ url, latency_ms: latencyMs, error })),
    models: models.map((listed) => ({ id: listed.id, context_length: listed.contextLength })),
    context_length: tested.contextLength ?? models.find((listed) => listed.id === model)?.contextLength ?? null,
    features: tested.features,
  };
}

/** Returns the server with this id. Throws 404 `upstream_not_found`. */
export function requireUpstream(
  servers: readonly UpstreamRow[],
  id: string,
  param: string | null = 'upstream_id',
): UpstreamRow {
  const row = servers.find((server) => server.id === id);
  if (row === undefined) throw notFound('upstream', id, param);
  return row;
}

const nameTaken = () => invalidValue('name', 'is the name of another server');

/** The database cannot hold NUL characters. */
function requireName(name: string): string {
  if (name.includes('\u0000')) throw invalidValue('name', 'must not contain NUL characters');
  if (name.trim() === '') throw invalidValue('name', 'must not be blank');
  return name.trim();
}

function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) throw invalidValue('base_urls', `contains '${text.slice(0, 100)}', which is not a URL`);
  try {
    parseEndpoints(text);
  } catch {
    throw invalidValue('base_urls', 'must be URLs that begin with http:// or https://');
  }
  if (url.username !== '' || url.password !== '')
    throw invalidValue('base_urls', "must not contain a user name or a password; use 'api_key'");
  if ([...url.searchParams.keys()].some((name) => !QUERY_PARAMETERS.has(name)))
    throw invalidValue('base_urls', "must not have query parameters other than 'api-version'");
  url.hash = '';
  return url.href;
}

/** Whether the new URLs have an origin that the former ones lack. */
function hasNewHost(before: readonly string[], after: readonly string[] | undefined): boolean {
  const origins = new Set(before.map((url) => new URL(url).origin));
  return after?.some((url) => !origins.has(new URL(url).origin)) ?? false;
}

function sealKey({ secrets }: Pick<Deps, 'secrets'>, id: string, apiKey: string | null): string | null {
  if (apiKey === null) return null;
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw invalidValue('api_key', 'must be printable ASCII characters without spaces');
  return secrets.seal(apiKey, id);
}
