import { and, desc, eq, sql as expression, inArray, like, lt, notExists, or, type SQL } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { nameContains, type PageBounds, pageOrder } from '../db/page.ts';
import type { Caller } from '../lib/caller.ts';
import { ID_PREFIXES } from '../lib/ids.ts';
import { members } from '../users/tables.ts';
import { prompts, promptVersions } from './tables.ts';

/** A row of `prompts`. */
export type PromptRow = typeof prompts.$inferSelect;

/** A row of `prompt_versions`. */
export type PromptVersionRow = typeof promptVersions.$inferSelect;

/** A prompt with one of its versions. */
export interface VersionedPrompt {
  prompt: PromptRow;
  version: PromptVersionRow;
}

/** A caller that reads prompts: its own prompts and the shared prompts of its organization. */
export type PromptReader = Pick<Caller, 'organizationId' | 'keyId'>;

const isVisible = ({ organizationId, keyId }: PromptReader): SQL | undefined =>
  and(eq(prompts.organizationId, organizationId), or(eq(prompts.isShared, true), eq(prompts.ownerId, keyId)));

/** Inserts a prompt with its first version. */
export async function insertPrompt(sql: Sql, { prompt, version }: VersionedPrompt): Promise<void> {
  await sql.insert(prompts).values(prompt);
  await sql.insert(promptVersions).values(version);
}

/** Selects a prompt that is visible to the reader, or null. */
export async function selectPrompt(sql: Sql, reader: PromptReader, id: string): Promise<PromptRow | null> {
  const [row] = await sql
    .select()
    .from(prompts)
    .where(and(eq(prompts.id, id), isVisible(reader)));
  return row ?? null;
}

/** Like `selectPrompt`, with a row lock until the transaction ends. */
export async function lockPrompt(sql: Sql, reader: PromptReader, id: string): Promise<PromptRow | null> {
  const [row] = await sql
    .select()
    .from(prompts)
    .where(and(eq(prompts.id, id), isVisible(reader)))
    .for('update');
  return row ?? null;
}

/** Selects a page of the prompts that are visible to the reader with their newest versions, newest first. */
export async function selectPrompts(
  sql: Sql,
  reader: PromptReader,
  bounds: PageBounds,
  search: string | undefined,
): Promise<VersionedPrompt[]> {
  const { isAfter, orderBy } = pageOrder(prompts.id, bounds, 'desc');
  const isNewest = and(eq(promptVersions.promptId, prompts.id), eq(promptVersions.version, prompts.latestVersion));
  return sql
    .select({ prompt: prompts, version: promptVersions })
    .from(prompts)
    .innerJoin(promptVersions, isNewest)
    .where(
      and(
        isVisible(reader),
        isAfter,
        or(nameContains(prompts.name, search), nameContains(promptVersions.text, search)),
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Counts the prompts of an owner. */
export async function countPrompts(sql: Sql, { organizationId, keyId }: PromptReader): Promise<number> {
  return sql.$count(prompts, and(eq(prompts.organizationId, organizationId), eq(prompts.ownerId, keyId)));
}

/** Changes a prompt. */
export async function updatePromptRow(sql: Sql, id: string, changes: Partial<PromptRow>): Promise<void> {
  await sql.update(prompts).set(changes).where(eq(prompts.id, id));
}

/** Deletes a prompt with its versions. */
export async function deletePromptRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(prompts).where(eq(prompts.id, id));
}

/** Inserts a version of a locked prompt. */
export async function insertPromptVersion(sql: Sql, row: PromptVersionRow): Promise<void> {
  await sql.insert(promptVersions).values(row);
}

/** Selects a version of a prompt by number, or null. */
export async function selectPromptVersion(
  sql: Sql,
  promptId: string,
  version: number,
): Promise<PromptVersionRow | null> {
  const isVersion = and(eq(promptVersions.promptId, promptId), eq(promptVersions.version, version));
  const [row] = await sql.select().from(promptVersions).where(isVersion);
  return row ?? null;
}

/** Selects a page of the versions of a prompt, newest first. */
export async function selectPromptVersions(
  sql: Sql,
  promptId: string,
  { limit, after }: PageBounds,
): Promise<PromptVersionRow[]> {
  const cursor = sql
    .select({ version: promptVersions.version })
    .from(promptVersions)
    .where(eq(promptVersions.id, after ?? ''));
  const isAfter = after === null ? undefined : lt(promptVersions.version, expression`(${cursor})`);
  return sql
    .select()
    .from(promptVersions)
    .where(and(eq(promptVersions.promptId, promptId), isAfter))
    .orderBy(desc(promptVersions.version))
    .limit(limit + 1);
}

/** Deletes the personal prompts of users who have left the organization. Returns the number of prompts. */
export async function deletePromptsOfFormerMembers(sql: Sql, limit: number): Promise<number> {
  const isMember = sql
    .select({ id: members.userId })
    .from(members)
    .where(and(eq(members.organizationId, prompts.organizationId), eq(members.userId, prompts.ownerId)));
  const left = sql
    .select({ id: prompts.id })
    .from(prompts)
    .where(and(eq(prompts.isShared, false), like(prompts.ownerId, `${ID_PREFIXES.user}%`), notExists(isMember)))
    .limit(limit);
  return (await sql.delete(prompts).where(inArray(prompts.id, left)).returning({ id: prompts.id })).length;
}

/** Deletes all prompts of an organization. */
export async function deletePromptsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(prompts).where(eq(prompts.organizationId, organizationId));
}
