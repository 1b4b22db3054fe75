import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import type { File } from './schema.ts';
import { type FileRow, selectFile } from './store.ts';

/** The organization's file. Throws 404 `file_not_found` naming `param` for an unknown one and for another's. */
export async function findFile(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  id: string,
  param = 'file_id',
): Promise<FileRow> {
  // What is no id is not asked for: PostgreSQL takes no NUL in a text.
  const row = isId('file', id) ? await selectFile(deps.db.sql, organizationId, id) : null;
  if (row === null) throw notFound('file', id, param);
  return row;
}

/** The file as the wire shows it. */
export function viewFile(row: FileRow): File {
  return {
    id: row.id,
    object: 'file',
    bytes: row.bytes,
    created_at: Math.floor(row.createdAt.getTime() / 1000),
    filename: row.filename,
    sha256: row.sha256,
    purpose: row.purpose,
    status: row.status,
    status_details: row.statusDetails,
  };
}
