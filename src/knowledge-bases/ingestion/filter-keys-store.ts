import { and, eq, sql as expression, notInArray } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { documents, filterKeys } from '../documents/tables.ts';
import { knowledgeBases } from '../tables.ts';

/** Keys that one knowledge base filters by: each that has numbers or dates is a column of its index. */
export const MAX_FILTER_KEYS = 256;

/** Holds the knowledge base against other writers until the transaction ends. False where it is gone. */
export async function lockBase(sql: Sql, id: string): Promise<boolean> {
  const held = sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, id));
  return (await held.for('update')).length === 1;
}

/** The keys that the knowledge base filters by. */
export async function selectFilterKeys(sql: Sql, knowledgeBaseId: string): Promise<string[]> {
  const rows = await sql
    .select({ key: filterKeys.key })
    .from(filterKeys)
    .where(eq(filterKeys.knowledgeBaseId, knowledgeBaseId));
  return rows.map(({ key }) => key);
}

/** Adds keys that the knowledge base filters by. */
export async function insertFilterKeys(sql: Sql, knowledgeBaseId: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql.insert(filterKeys).values(keys.map((key) => ({ knowledgeBaseId, key })));
}

/** Gives up the keys that no document of the knowledge base has any more. Reads all of its documents. */
export async function deleteUnusedFilterKeys(sql: Sql, knowledgeBaseId: string): Promise<void> {
  const used = sql
    .selectDistinct({ key: expression<string>`jsonb_object_keys(${documents.metadata})`.as('key') })
    .from(documents)
    .where(eq(documents.knowledgeBaseId, knowledgeBaseId));
  await sql
    .delete(filterKeys)
    .where(and(eq(filterKeys.knowledgeBaseId, knowledgeBaseId), notInArray(filterKeys.key, used)));
}
