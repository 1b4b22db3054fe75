import { and, eq, sql as expression, lt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { notify } from '../../db/notifications.ts';
import { type StoredUpstreams, selectUpstreams } from '../upstreams/store.ts';
import { modelBindings, modelBindingsState, modelIds, retiredModels } from './tables.ts';

/** The model file that a model id is bound to, and who chose it. */
export interface StoredBinding {
  /** Name of a model file. */
  model: string;
  by: 'operator' | 'first-start';
  /** SHA-256 of the file; null or absent where processes share no blob store. */
  sha256?: string | null;
}

/** All stored bindings by model id. */
export interface StoredBindings {
  /** Increases with every change; 0 before the first one. */
  version: number;
  ids: Readonly<Record<string, StoredBinding>>;
  /** Former bindings of embedding model ids whose vectors are still searched; undefined: without a stored binding. */
  retired: readonly { id: string; binding: StoredBinding | undefined }[];
  initialPullDone: boolean;
  /** Servers added over the API, and the model ids that they serve. */
  upstreams: StoredUpstreams;
}

/** Changes of bindings by model id; null removes a binding. */
export type BindingChanges = Readonly<Record<string, StoredBinding | null>>;

/** The version of the stored bindings: one primary-key lookup, cheap enough to poll. */
export async function selectBindingsVersion(sql: Sql): Promise<number> {
  const [row] = await sql.select({ version: modelBindingsState.version }).from(modelBindingsState);
  return row?.version ?? 0;
}

/**
 * All stored bindings, ordered by model id. A change that commits between the two queries may be in `ids` and not yet
 * in `version`: the next comparison of versions then reads the bindings once more.
 */
export async function selectBindings(sql: Sql): Promise<StoredBindings> {
  const [state] = await sql.select().from(modelBindingsState);
  const rows = await sql.select().from(modelBindings).orderBy(modelBindings.modelId);
  const retired = await sql.select().from(retiredModels);
  return {
    version: state?.version ?? 0,
    ids: Object.fromEntries(
      rows.map(({ modelId, modelName, chosenBy, modelSha256: sha256 }) => [
        modelId,
        { model: modelName, by: chosenBy, ...(sha256 !== null && { sha256 }) },
      ]),
    ),
    retired: retired.map(({ modelId: id, modelName: model, modelSha256: sha256 }) => ({
      id,
      binding: model === '' ? undefined : { model, by: 'operator', ...(sha256 !== null && { sha256 }) },
    })),
    initialPullDone: state?.initialPullDone ?? false,
    upstreams: await selectUpstreams(sql),
  };
}

/** Records that an embedding model id had the binding `before`, and that its present one is no former one. */
export async function insertRetiredModel(
  sql: Sql,
  id: string,
  { before, after }: { before: StoredBinding | null | undefined; after: StoredBinding | null },
): Promise<void> {
  const former = { modelId: id, modelName: before?.model ?? '', modelSha256: before?.sha256 ?? null };
  await sql.insert(retiredModels).values(former).onConflictDoNothing();
  const isPresent = and(eq(retiredModels.modelId, id), eq(retiredModels.modelName, after?.model ?? ''));
  await sql.delete(retiredModels).where(isPresent);
}

/** Deletes the former bindings of a model id that ended before a time; all processes then stop their engines. */
export async function deleteRetiredModels(sql: Sql, id: string, before: Date): Promise<void> {
  const isOld = and(eq(retiredModels.modelId, id), lt(retiredModels.retiredAt, before));
  const deleted = await sql.delete(retiredModels).where(isOld).returning({ id: retiredModels.modelId });
  if (deleted.length > 0) await incrementVersion(sql, false);
}

/** The time at which a model id was first bound, which is now for a new one. */
export async function recordModelId(sql: Sql, modelId: string): Promise<Date> {
  const [row] = await sql
    .insert(modelIds)
    .values({ modelId })
    .onConflictDoUpdate({ target: modelIds.modelId, set: { modelId } })
    .returning({ firstBoundAt: modelIds.firstBoundAt });
  if (row === undefined) throw new Error(`the model id '${modelId}' was not stored`);
  return row.firstBoundAt;
}

/** Writes the changes and returns the new version. Run it in a transaction: the version row serializes writers. */
export async function updateBindings(sql: Sql, changes: BindingChanges, initialPullDone: boolean): Promise<number> {
  const version = await incrementVersion(sql, initialPullDone);
  for (const [modelId, binding] of Object.entries(changes)) {
    if (binding === null) {
      await sql.delete(modelBindings).where(eq(modelBindings.modelId, modelId));
      continue;
    }
    const { model: modelName, by: chosenBy, sha256: modelSha256 = null } = binding;
    const set = { modelName, chosenBy, modelSha256, updatedAt: expression`now()` };
    await sql
      .insert(modelBindings)
      .values({ modelId, ...set })
      .onConflictDoUpdate({ target: modelBindings.modelId, set });
  }
  return version;
}

/** Gives all bindings of a model file the hash of its present content: a name stands for one file. */
export async function updateModelHash(sql: Sql, { model, sha256 = null }: StoredBinding): Promise<void> {
  await sql.update(modelBindings).set({ modelSha256: sha256 }).where(eq(modelBindings.modelName, model));
}

/** Adds bindings of model ids that have none. Run it in a transaction. */
export async function insertMissingBindings(
  sql: Sql,
  ids: Readonly<Record<string, StoredBinding>>,
  initialPullDone: boolean,
): Promise<void> {
  await incrementVersion(sql, initialPullDone);
  const rows = Object.entries(ids).map(([modelId, { model, by }]) => ({ modelId, modelName: model, chosenBy: by }));
  if (rows.length > 0) await sql.insert(modelBindings).values(rows).onConflictDoNothing();
}

/** Makes all processes read the bindings again, at the commit. `initialPullDone` is never reset. */
export async function incrementVersion(sql: Sql, initialPullDone: boolean): Promise<number> {
  const [row] = await sql
    .insert(modelBindingsState)
    .values({ initialPullDone })
    .onConflictDoUpdate({
      target: modelBindingsState.id,
      set: {
        version: expression`${modelBindingsState.version} + 1`,
        initialPullDone: expression`${modelBindingsState.initialPullDone} or ${initialPullDone}`,
      },
    })
    .returning({ version: modelBindingsState.version });
  await notify(sql, 'quire_model_bindings');
  return row?.version ?? 0;
}
