import type { Sql } from '../../db/db.ts';
import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { findAndLockKnowledgeBase } from '../find-knowledge-base.ts';
import type { DocumentPath } from './find-document.ts';
import { deletePosted } from './posted-store.ts';
import type { DeletedDocument, DeletedKey } from './schema.ts';
import { type DocumentRow, deleteDocumentRow, insertTombstone, lockDocument, lockDocumentsOfKey } from './store.ts';
import { applyTombstones } from './tombstones.ts';

type DeleteDeps = Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>;

/**
 * Deletes a document with its chunks; searches no longer return it once this resolves. A later sync of its source may
 * ingest it again with a new id. Throws 404 `knowledge_base_not_found` and `document_not_found`.
 */
export async function deleteDocument(
  deps: DeleteDeps,
  organizationId: string,
  { kb_id, document_id }: DocumentPath,
): Promise<DeletedDocument> {
  await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, kb_id);
    const ids = { baseId: base.id, id: document_id };
    const row = await findRow('document', document_id, 'document_id', () => lockDocument(sql, organizationId, ids));
    await deleteLocked(sql, row, deps.now());
  });
  await applyTombstones(deps, kb_id);
  return { id: document_id, object: 'document', deleted: true };
}

/**
 * Deletes the documents that were posted with a key. Throws 404 `knowledge_base_not_found` and `document_not_found`
 * naming `key`.
 */
export async function deleteKey(
  deps: DeleteDeps,
  organizationId: string,
  { kb_id, key }: { kb_id: string; key: string },
): Promise<DeletedKey> {
  const rows = await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, kb_id);
    // PostgreSQL rejects NUL in text parameters.
    const posted = key.includes('\0') ? [] : await lockDocumentsOfKey(sql, base.id, key);
    if (posted.length === 0) throw notFound('document', key, 'key');
    for (const row of posted) await deleteLocked(sql, row, deps.now());
    return posted;
  });
  await applyTombstones(deps, kb_id);
  return { object: 'document', key, deleted: true, document_ids: rows.map(({ id }) => id) };
}

/** Deletes a locked document in a transaction. Call `applyTombstones` after the commit. */
export async function deleteLocked(sql: Sql, row: DocumentRow, nowMs: number): Promise<void> {
  await insertTombstone(sql, row, new Date(nowMs));
  await deleteDocumentRow(sql, row);
  await deletePosted(sql, row.dataSourceId, row.itemKey);
}
