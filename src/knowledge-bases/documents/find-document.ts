import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { type DocumentRow, selectDocument } from './store.ts';

/** Path parameters of a document. */
export interface DocumentPath {
  kb_id: string;
  document_id: string;
}

/** Returns a document of the organization. Throws 404 `knowledge_base_not_found` and `document_not_found`. */
export async function findDocument(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  { kb_id, document_id }: DocumentPath,
): Promise<DocumentRow> {
  const base = await findKnowledgeBase(deps, organizationId, kb_id);
  const ids = { baseId: base.id, id: document_id };
  return findRow('document', document_id, 'document_id', () => selectDocument(deps.db.sql, organizationId, ids));
}
