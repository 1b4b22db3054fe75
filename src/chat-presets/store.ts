import { and, asc, eq, sql as expression, inArray } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import type { PageBounds } from '../db/page.ts';
import { chatPresets } from './tables.ts';

/** A row of `chat_presets`. */
export type ChatPresetRow = typeof chatPresets.$inferSelect;

const isPreset = (organizationId: string, id: string) =>
  and(eq(chatPresets.organizationId, organizationId), eq(chatPresets.id, id));

/** Inserts a preset at the end of the list. */
export async function insertPreset(sql: Sql, row: ChatPresetRow): Promise<void> {
  await sql.insert(chatPresets).values(row);
}

/** Selects a preset of the organization, or null. */
export async function selectPreset(sql: Sql, organizationId: string, id: string): Promise<ChatPresetRow | null> {
  const [row] = await sql.select().from(chatPresets).where(isPreset(organizationId, id));
  return row ?? null;
}

/** Selects the organization's presets with these ids. */
export async function selectPresetsById(
  sql: Sql,
  organizationId: string,
  ids: readonly string[],
): Promise<ChatPresetRow[]> {
  if (ids.length === 0) return [];
  const areThese = inArray(chatPresets.id, [...ids]);
  return sql
    .select()
    .from(chatPresets)
    .where(and(eq(chatPresets.organizationId, organizationId), areThese));
}

/** Selects the default preset of the organization, or null. */
export async function selectDefaultPreset(sql: Sql, organizationId: string): Promise<ChatPresetRow | null> {
  const isDefault = and(eq(chatPresets.isDefault, true), eq(chatPresets.isPublished, true));
  const [row] = await sql
    .select()
    .from(chatPresets)
    .where(and(eq(chatPresets.organizationId, organizationId), isDefault));
  return row ?? null;
}

/** Selects a page of the organization's presets in their order. */
export async function selectPresets(
  sql: Sql,
  organizationId: string,
  { limit, after, onlyPublished }: PageBounds & { onlyPublished: boolean },
): Promise<ChatPresetRow[]> {
  const place = expression`${chatPresets.position}, ${chatPresets.id}`;
  const cursor = sql
    .select({ place })
    .from(chatPresets)
    .where(isPreset(organizationId, after ?? ''));
  return sql
    .select()
    .from(chatPresets)
    .where(
      and(
        eq(chatPresets.organizationId, organizationId),
        onlyPublished ? eq(chatPresets.isPublished, true) : undefined,
        after === null ? undefined : expression`(${place}) > (${cursor})`,
      ),
    )
    .orderBy(asc(chatPresets.position), asc(chatPresets.id))
    .limit(limit + 1);
}

/** Counts the organization's presets. */
export async function countPresets(sql: Sql, organizationId: string): Promise<number> {
  return sql.$count(chatPresets, eq(chatPresets.organizationId, organizationId));
}

/** Changes a preset. */
export async function updatePresetRow(sql: Sql, { id, ...fields }: ChatPresetRow): Promise<void> {
  await sql.update(chatPresets).set(fields).where(eq(chatPresets.id, id));
}

/** Clears the default preset of the organization. */
export async function clearDefaultPreset(sql: Sql, organizationId: string): Promise<void> {
  await sql
    .update(chatPresets)
    .set({ isDefault: false })
    .where(and(eq(chatPresets.organizationId, organizationId), eq(chatPresets.isDefault, true)));
}

/** Sets the positions of presets to this order. */
export async function updatePresetOrder(sql: Sql, ids: readonly string[]): Promise<void> {
  for (const [position, id] of ids.entries())
    await sql.update(chatPresets).set({ position }).where(eq(chatPresets.id, id));
}

/** Deletes a preset. */
export async function deletePresetRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(chatPresets).where(eq(chatPresets.id, id));
}

/** Deletes all presets of an organization. */
export async function deletePresetsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(chatPresets).where(eq(chatPresets.organizationId, organizationId));
}
