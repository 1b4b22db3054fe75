import { and, asc, eq, getTableColumns, inArray, isNull, type SQL } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import type { Database, Sql } from '../db/db.ts';
import { nameContains, type PageBounds, pageOrder } from '../db/page.ts';
import { prepared } from '../db/prepared.ts';
import { currentCaller, visibleKnowledgeBases } from '../lib/organization-context.ts';
import type { KnowledgeBaseListQuery } from './schema.ts';
import { droppedIndexes, knowledgeBases } from './tables.ts';

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect;

/** Inserts a knowledge base. */
export async function insertKnowledgeBase(sql: Sql, row: KnowledgeBaseRow): Promise<void> {
  await sql.insert(knowledgeBases).values(row);
}

const COLUMNS = Object.entries(getTableColumns(knowledgeBases)).map(([field, { name }]) => `${name} as "${field}"`);

/** A prepared statement, because every search runs it. Through Drizzle, it takes ten times as long. */
const selectOne = prepared(
  'select_knowledge_base',
  `select ${COLUMNS.join(', ')} from knowledge_bases
  where id = $1::json->>'id' and organization_id = $1::json->>'organizationId'`,
);

/** Selects a knowledge base of the organization or of a chat of the caller, or null. */
export async function selectKnowledgeBase(
  db: Database,
  organizationId: string,
  id: string,
): Promise<KnowledgeBaseRow | null> {
  const [found] = await selectOne(db, JSON.stringify({ organizationId, id }));
  const row = found as KnowledgeBaseRow | undefined;
  if (row === undefined) return null;
  const caller = currentCaller();
  const isOpen = row.privateTo === null || caller === null ? isVisible(id) : row.privateTo === caller;
  return isOpen ? row : null;
}

/** Like `selectKnowledgeBase`, with a row lock, and without knowledge bases of chats, which only the chat changes. */
export async function lockKnowledgeBase(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<KnowledgeBaseRow | null> {
  if (!isVisible(id)) return null;
  const isFound = and(isKnowledgeBase(organizationId, id), isSharedBase());
  const [row] = await sql.select().from(knowledgeBases).where(isFound).for('update');
  return row ?? null;
}

/** Selects the knowledge base of a chat with a row lock, or null. */
export async function lockPrivateBase(sql: Sql, id: string): Promise<KnowledgeBaseRow | null> {
  const [row] = await sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, id)).for('update');
  return row ?? null;
}

/** Selects the organization's knowledge bases, optionally those whose name contains a text, in id (creation) order. */
export function selectKnowledgeBases(
  sql: Sql,
  organizationId: string,
  { search, order }: Omit<KnowledgeBaseListQuery, keyof PageBounds>,
  bounds: PageBounds,
): Promise<KnowledgeBaseRow[]> {
  const { isAfter, orderBy } = pageOrder(knowledgeBases.id, bounds, order);
  return sql
    .select()
    .from(knowledgeBases)
    .where(
      and(
        eq(knowledgeBases.organizationId, organizationId),
        onlyVisibleBases(),
        isSharedBase(),
        nameContains(knowledgeBases.name, search),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Filters the ids to knowledge bases of the organization. Knowledge bases of chats are omitted. */
export async function selectExistingBases(sql: Sql, organizationId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await sql
    .select({ id: knowledgeBases.id })
    .from(knowledgeBases)
    .where(
      and(
        eq(knowledgeBases.organizationId, organizationId),
        inArray(knowledgeBases.id, [...ids]),
        onlyVisibleBases(),
        isSharedBase(),
      ),
    );
  return rows.map(({ id }) => id);
}

/** The lookups of this file find no knowledge base that the key of the current request may not use. */
const isVisible = (id: string): boolean => visibleKnowledgeBases()?.includes(id) ?? true;

/** The same as a condition on a column with the id of a knowledge base; undefined: all are visible. */
export function onlyVisibleBases(column: AnyPgColumn = knowledgeBases.id): SQL | undefined {
  const ids = visibleKnowledgeBases();
  return ids === null ? undefined : inArray(column, [...ids]);
}

/** SQL condition that hides knowledge bases of chats from requests. Jobs see all knowledge bases. */
const isSharedBase = (): SQL | undefined => (currentCaller() === null ? undefined : isNull(knowledgeBases.privateTo));

/** Updates the fields that callers may change. */
export async function updateKnowledgeBaseRow(
  sql: Sql,
  id: string,
  changes: Pick<
    KnowledgeBaseRow,
    'name' | 'description' | 'metadata' | 'expiresAfterDays' | 'lastActiveAt' | 'updatedAt'
  >,
): Promise<void> {
  await sql.update(knowledgeBases).set(changes).where(eq(knowledgeBases.id, id));
}

/** Sets the time of the last activity, unless a transaction has locked the row: a later search sets it. */
export async function updateActivity(sql: Sql, id: string, at: Date): Promise<void> {
  const unlocked = sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, id));
  await sql
    .update(knowledgeBases)
    .set({ lastActiveAt: at })
    .where(inArray(knowledgeBases.id, unlocked.for('update', { skipLocked: true })));
}

/** Deletes the row and all rows that refer to it. */
export async function deleteKnowledgeBaseRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(knowledgeBases).where(eq(knowledgeBases.id, id));
}

/** Records that the index of a knowledge base is to be removed. */
export async function insertDroppedIndex(sql: Sql, knowledgeBaseId: string, at: Date): Promise<void> {
  await sql.insert(droppedIndexes).values({ knowledgeBaseId, createdAt: at }).onConflictDoNothing();
}

/** Selects up to `limit` knowledge bases whose index is to be removed, in the order of their deletion. */
export function selectDroppedIndexes(sql: Sql, limit: number): Promise<(typeof droppedIndexes.$inferSelect)[]> {
  return sql.select().from(droppedIndexes).orderBy(asc(droppedIndexes.createdAt)).limit(limit);
}

/** Whether a deleted knowledge base has an index that is to be removed. */
export async function isDroppedIndex(sql: Sql, knowledgeBaseId: string): Promise<boolean> {
  return (await sql.$count(droppedIndexes, eq(droppedIndexes.knowledgeBaseId, knowledgeBaseId))) > 0;
}

/** Records that the index of a knowledge base was removed. */
export async function deleteDroppedIndex(sql: Sql, knowledgeBaseId: string): Promise<void> {
  await sql.delete(droppedIndexes).where(eq(droppedIndexes.knowledgeBaseId, knowledgeBaseId));
}

function isKnowledgeBase(organizationId: string, id: string) {
  return and(eq(knowledgeBases.organizationId, organizationId), eq(knowledgeBases.id, id));
}
