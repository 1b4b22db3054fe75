import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { type DocumentPath, findDocument } from './find-document.ts';
import { selectDocumentChunks } from './store.ts';
import { viewDocumentChunk } from './view-document.ts';

/** Lists a document's chunks in text order. Throws 404 as `findDocument` does. */
export async function listChunks(deps: Pick<Deps, 'db'>, organizationId: string, path: DocumentPath, query: ListQuery) {
  const bounds = pageBounds(query, 'chunk');
  const document = await findDocument(deps, organizationId, path);
  const rows = await selectDocumentChunks(deps.db.sql, document.id, bounds);
  return page(rows.map(viewDocumentChunk), bounds.limit);
}
