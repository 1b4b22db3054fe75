import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { isId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { DocumentListQuery } from './schema.ts';
import { listDocumentRows } from './store.ts';
import { viewDocument } from './view-document.ts';

/** Lists a knowledge base's documents, by default oldest first. Throws 404 `knowledge_base_not_found`. */
export async function listDocuments(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  baseId: string,
  query: DocumentListQuery,
) {
  const bounds = pageBounds(query, 'document');
  if (query.data_source_id !== undefined && !isId('dataSource', query.data_source_id)) {
    throw invalidValue('data_source_id', 'must be the id of a data source');
  }
  if (query.key?.includes('\0')) throw invalidValue('key', 'must not contain NUL characters');
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const rows = await listDocumentRows(deps.db.sql, base.id, query, bounds);
  return page(rows.map(viewDocument), bounds.limit);
}
