import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { isId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { type DocumentRow, selectDocument } from './store.ts';

/** Which document of which knowledge base, as a path names them. */
export interface DocumentPath {
  kb_id: string;
  document_id: string;
}

/** The organization's document. Throws 404 `knowledge_base_not_found` and `document_not_found`. */
export async function findDocument(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  { kb_id, document_id }: DocumentPath,
): Promise<DocumentRow> {
  const base = await findKnowledgeBase(deps, organizationId, kb_id);
  const row = isId('document', document_id)
    ? await selectDocument(deps.db.sql, organizationId, { baseId: base.id, id: document_id })
    : null;
  if (row === null) throw notFound('document', document_id, 'document_id');
  return row;
}
