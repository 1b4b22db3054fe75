import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { type DocumentPath, findDocument } from './find-document.ts';
import type { ChunkListQuery } from './schema.ts';
import { selectDocumentChunks } from './store.ts';
import { viewDocumentChunk } from './view-document.ts';

/** Lists chunks of a document, optionally of a range of its text, in text order. Throws 404 as `findDocument` does. */
export async function listChunks(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  path: DocumentPath,
  query: ChunkListQuery,
) {
  const bounds = pageBounds(query, 'chunk');
  const document = await findDocument(deps, organizationId, path);
  const rows = await selectDocumentChunks(deps.db.sql, document.id, bounds, query);
  return page(rows.map(viewDocumentChunk), bounds.limit);
}
