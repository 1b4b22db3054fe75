import { and, asc, eq, getTableColumns, gt } from 'drizzle-orm';
import type { Database, Sql } from '../db/db.ts';
import type { PageBounds } from '../db/page.ts';
import { prepared } from '../db/prepared.ts';
import { droppedIndexes, knowledgeBases } from './tables.ts';

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect;

/** Adds a knowledge base. */
export async function insertKnowledgeBase(sql: Sql, row: KnowledgeBaseRow): Promise<void> {
  await sql.insert(knowledgeBases).values(row);
}

const COLUMNS = Object.entries(getTableColumns(knowledgeBases)).map(([field, { name }]) => `${name} as "${field}"`);

/** Every search asks it: through Drizzle it takes ten times as long. */
const selectOne = prepared(
  'select_knowledge_base',
  `select ${COLUMNS.join(', ')} from knowledge_bases
  where id = $1::json->>'id' and organization_id = $1::json->>'organizationId'`,
);

/** The organization's knowledge base of that id, or null. */
export async function selectKnowledgeBase(
  db: Database,
  organizationId: string,
  id: string,
): Promise<KnowledgeBaseRow | null> {
  const [row] = await selectOne(db, JSON.stringify({ organizationId, id }));
  return (row as KnowledgeBaseRow | undefined) ?? null;
}

/** The same, held against other writers until the transaction ends. */
export async function lockKnowledgeBase(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<KnowledgeBaseRow | null> {
  const [row] = await sql.select().from(knowledgeBases).where(isKnowledgeBase(organizationId, id)).for('update');
  return row ?? null;
}

/** The organization's knowledge bases, oldest first. */
export function selectKnowledgeBases(
  sql: Sql,
  organizationId: string,
  bounds: PageBounds,
): Promise<KnowledgeBaseRow[]> {
  return sql
    .select()
    .from(knowledgeBases)
    .where(
      and(
        eq(knowledgeBases.organizationId, organizationId),
        bounds.after === null ? undefined : gt(knowledgeBases.id, bounds.after),
      ),
    )
    .orderBy(asc(knowledgeBases.id))
    .limit(bounds.limit + 1);
}

/** Changes what a caller may change. */
export async function updateKnowledgeBaseRow(
  sql: Sql,
  id: string,
  changes: Pick<KnowledgeBaseRow, 'name' | 'description' | 'metadata' | 'updatedAt'>,
): Promise<void> {
  await sql.update(knowledgeBases).set(changes).where(eq(knowledgeBases.id, id));
}

/** Removes the row, and with it all that refers to it. */
export async function deleteKnowledgeBaseRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(knowledgeBases).where(eq(knowledgeBases.id, id));
}

/** Says that the index of a knowledge base is to go. */
export async function insertDroppedIndex(sql: Sql, knowledgeBaseId: string, at: Date): Promise<void> {
  await sql.insert(droppedIndexes).values({ knowledgeBaseId, createdAt: at }).onConflictDoNothing();
}

/** Up to `limit` knowledge bases whose index is to go, those deleted first. */
export function selectDroppedIndexes(sql: Sql, limit: number): Promise<(typeof droppedIndexes.$inferSelect)[]> {
  return sql.select().from(droppedIndexes).orderBy(asc(droppedIndexes.createdAt)).limit(limit);
}

/** Whether the index of a knowledge base is to go, since that was deleted a while ago. */
export async function isDroppedIndex(sql: Sql, knowledgeBaseId: string): Promise<boolean> {
  return (await sql.$count(droppedIndexes, eq(droppedIndexes.knowledgeBaseId, knowledgeBaseId))) > 0;
}

/** Says that the index of a knowledge base has gone. */
export async function deleteDroppedIndex(sql: Sql, knowledgeBaseId: string): Promise<void> {
  await sql.delete(droppedIndexes).where(eq(droppedIndexes.knowledgeBaseId, knowledgeBaseId));
}

function isKnowledgeBase(organizationId: string, id: string) {
  return and(eq(knowledgeBases.organizationId, organizationId), eq(knowledgeBases.id, id));
}
