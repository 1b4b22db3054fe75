import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { viewFile } from './find-file.ts';
import { resolvePurpose } from './formats.ts';
import type { FileListQuery } from './schema.ts';
import { selectFiles } from './store.ts';

/** Lists a page of files, in the order of the query (default: oldest first). */
export async function listFiles(deps: Pick<Deps, 'db'>, organizationId: string, query: FileListQuery) {
  const bounds = pageBounds(query, 'file');
  const { purpose: name, ...filters } = query;
  const purpose = name === undefined || name === 'archive' ? (name ?? null) : resolvePurpose(name);
  const rows = await selectFiles(deps.db.sql, organizationId, { ...filters, purpose }, bounds);
  return page(rows.map(viewFile), bounds.limit);
}
