import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { findAndLockKnowledgeBase } from '../find-knowledge-base.ts';
import type { DocumentPath } from './find-document.ts';
import type { DeletedDocument } from './schema.ts';
import { deleteDocumentRow, insertTombstone, lockDocument } from './store.ts';
import { applyTombstones } from './tombstones.ts';

/**
 * Deletes a document with its chunks; searches no longer return it once this resolves. A later sync of its source may
 * ingest it again with a new id. Throws 404 `knowledge_base_not_found` and `document_not_found`.
 */
export async function deleteDocument(
  deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>,
  organizationId: string,
  { kb_id, document_id }: DocumentPath,
): Promise<DeletedDocument> {
  await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, kb_id);
    const ids = { baseId: base.id, id: document_id };
    const row = await findRow('document', document_id, 'document_id', () => lockDocument(sql, organizationId, ids));
    await insertTombstone(sql, row, new Date(deps.now()));
    await deleteDocumentRow(sql, row);
  });
  await applyTombstones(deps, kb_id);
  return { id: document_id, object: 'document', deleted: true };
}
