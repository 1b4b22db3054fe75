import { findRow } from '../db/find-row.ts';
import type { Deps } from '../deps.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { File } from './schema.ts';
import { type FileRow, selectFile } from './store.ts';

/** Finds a file of the organization. Throws 404 `file_not_found` with `param` for unknown and foreign ids. */
export function findFile(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  id: string,
  param = 'file_id',
): Promise<FileRow> {
  return findRow('file', id, param, () => selectFile(deps.db.sql, organizationId, id));
}

/** Status of each file in the API. */
const STATUSES = { unchecked: 'uploaded', uploaded: 'processed', processed: 'processed', error: 'error' } as const;

/** Converts a row to the file object of the API. */
export function viewFile(row: FileRow): File {
  return {
    id: row.id,
    object: 'file',
    bytes: row.bytes,
    created_at: toUnixSeconds(row.createdAt),
    ...(row.expiresAt !== null && { expires_at: toUnixSeconds(row.expiresAt) }),
    filename: row.filename,
    sha256: row.sha256,
    purpose: row.purpose,
    status: STATUSES[row.status],
    status_details: row.statusDetails,
  };
}
