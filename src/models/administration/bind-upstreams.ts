import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { invalidValue } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { incrementVersion } from '../bindings/store.ts';
import { CATALOGUE, modelKind } from '../catalogue.ts';
import { mergeUpstreams, namesEngine } from '../upstreams/merge-upstreams.ts';
import {
  deleteUpstreamModel,
  type StoredUpstreams,
  selectUpstreams,
  type UpstreamModelRow,
  upsertUpstreamModel,
} from '../upstreams/store.ts';
import type { UpstreamAdminDeps } from './admin-deps.ts';
import { asInvalid, MODEL_ID } from './manage-models.ts';
import { requireUpstream } from './manage-upstreams.ts';
import type { BindUpstreams, UpstreamBinding } from './schema.ts';
import { viewBinding } from './view-binding.ts';

/**
 * Binds a model id to servers in all processes. Throws 404 `upstream_not_found`, and 400 for a binding that the model
 * cannot have, or while the configuration file binds the id.
 */
export async function bindUpstreams(
  deps: UpstreamAdminDeps,
  call: Call,
  id: string,
  body: BindUpstreams,
): Promise<UpstreamBinding> {
  const row: UpstreamModelRow = {
    modelId: id,
    routes: body.routes,
    contextLength: body.context_length ?? null,
    pricing: body.pricing ?? null,
    vision: body.vision ?? false,
  };
  requireBindable(deps, row);
  await requireStartable(deps, row);
  await deps.db.sql.transaction(async (sql) => {
    await incrementVersion(sql, false);
    const stored = await selectUpstreams(sql);
    requireServers(stored, row);
    await upsertUpstreamModel(sql, row);
    await recordBinding(sql, call, stored, row);
  });
  await deps.bindings.refresh();
  return viewBinding(row) as UpstreamBinding;
}

/** Removes the binding of a model id to servers. Succeeds without one. Throws 400 while an alias stands for the id. */
export async function unbindUpstreams(deps: UpstreamAdminDeps, call: Call, id: string) {
  const alias = Object.keys(deps.config.models).find((name) => deps.config.models[name]?.alias === id);
  const hasDefault = id in deps.config.models || CATALOGUE.some((entry) => entry.id === id);
  if (alias !== undefined && !hasDefault)
    throw invalidValue('model_id', `is the model that the alias '${alias}' stands for`);
  await deps.db.sql.transaction(async (sql) => {
    await incrementVersion(sql, false);
    const stored = await selectUpstreams(sql);
    if (!stored.models.some(({ modelId }) => modelId === id)) return;
    await deleteUpstreamModel(sql, id);
    await recordBinding(sql, call, stored, { modelId: id, routes: [] });
  });
  await deps.bindings.refresh();
  return { id, object: 'model_binding', deleted: true } as const;
}

function requireBindable({ config }: UpstreamAdminDeps, { modelId, routes, vision }: UpstreamModelRow): void {
  if (!MODEL_ID.test(modelId)) throw invalidValue('model_id', 'cannot be a model id');
  if (namesEngine(config.models[modelId] ?? {}))
    throw invalidValue('model_id', 'is bound in the configuration file, which overrides bindings of the API');
  const isChat = modelKind(modelId) === 'generation';
  if (!isChat && routes.length > 1) throw invalidValue('routes', 'may have several servers for chat models only');
  if (!isChat && vision) throw invalidValue('vision', 'is for chat models');
  if (routes.every(({ weight }) => weight === 0))
    throw invalidValue('routes', "needs a server with a 'weight' above 0");
  if (routes.some(({ model }) => model.includes('\u0000')))
    throw invalidValue('routes', 'must not contain NUL characters');
}

function requireServers({ servers }: StoredUpstreams, { modelId, routes }: UpstreamModelRow): void {
  for (const [index, { upstream_id: id }] of routes.entries()) {
    const { protocol } = requireUpstream(servers, id, `routes.${index}.upstream_id`);
    if (protocol === 'anthropic' && modelKind(modelId) !== 'generation')
      throw invalidValue(
        `routes.${index}.upstream_id`,
        "names a server of Anthropic's Messages, which serves chat models",
      );
  }
}

/** An embedding server must return vectors of the dimensions of the index. Chat servers may be unreachable for now. */
async function requireStartable(deps: UpstreamAdminDeps, row: UpstreamModelRow): Promise<void> {
  const stored = await selectUpstreams(deps.db.sql);
  requireServers(stored, row);
  if (modelKind(row.modelId) === 'generation') return;
  const { models } = mergeUpstreams(deps.config, { ...stored, models: [row] }, deps);
  await asInvalid('routes', () => deps.bindings.requireStartable(row.modelId, models[row.modelId] ?? {}));
}

function recordBinding(
  sql: Parameters<typeof recordChange>[0],
  call: Call,
  { servers, models }: StoredUpstreams,
  after: Pick<UpstreamModelRow, 'modelId' | 'routes'>,
): Promise<void> {
  const before = models.find(({ modelId }) => modelId === after.modelId);
  const describe = (routes: UpstreamModelRow['routes'] = []) =>
    routes.map((route) => {
      const name = servers.find(({ id }) => id === route.upstream_id)?.name ?? route.upstream_id;
      return `${name}: ${route.model} (${route.weight})`;
    });
  return recordChange(sql, toActor(call), {
    action: 'model_binding.updated',
    organizationId: '',
    resourceId: after.modelId,
    changes: changedValues({ servers: describe(before?.routes) }, { servers: describe(after.routes) }),
  });
}
