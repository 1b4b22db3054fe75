import { asc, eq, sql as expression } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { upstreamModels, upstreams } from './tables.ts';

/** A row of `upstreams`. */
export type UpstreamRow = typeof upstreams.$inferSelect;
/** A row of `upstream_models`. */
export type UpstreamModelRow = Omit<typeof upstreamModels.$inferSelect, 'updatedAt'>;

/** All servers and bindings that operators have made over the API. */
export interface StoredUpstreams {
  servers: readonly UpstreamRow[];
  models: readonly UpstreamModelRow[];
}

/** All rows: the servers in order of their creation. */
export async function selectUpstreams(sql: Sql): Promise<StoredUpstreams> {
  const servers = await sql.select().from(upstreams).orderBy(asc(upstreams.id));
  const models = await sql.select().from(upstreamModels).orderBy(asc(upstreamModels.modelId));
  return { servers, models: models.map(({ updatedAt: _, ...model }) => model) };
}

/** Adds a server. False: another one has the name. */
export async function insertUpstream(sql: Sql, row: UpstreamRow): Promise<boolean> {
  const inserted = await sql.insert(upstreams).values(row).onConflictDoNothing().returning({ id: upstreams.id });
  return inserted.length > 0;
}

/** Replaces the fields of a server. */
export async function updateUpstreamRow(sql: Sql, { id, ...fields }: UpstreamRow): Promise<void> {
  await sql.update(upstreams).set(fields).where(eq(upstreams.id, id));
}

/** Deletes a server. */
export async function deleteUpstreamRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(upstreams).where(eq(upstreams.id, id));
}

/** Adds or replaces the binding of a model id. */
export async function upsertUpstreamModel(sql: Sql, { modelId, ...fields }: UpstreamModelRow): Promise<void> {
  const set = { ...fields, updatedAt: expression`now()` };
  await sql
    .insert(upstreamModels)
    .values({ modelId, ...set })
    .onConflictDoUpdate({ target: upstreamModels.modelId, set });
}

/** Deletes the binding of a model id. */
export async function deleteUpstreamModel(sql: Sql, modelId: string): Promise<void> {
  await sql.delete(upstreamModels).where(eq(upstreamModels.modelId, modelId));
}
