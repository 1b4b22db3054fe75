import type { Sql } from '../db/db.ts';
import { invalidValue, notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import type { FilePurpose } from './schema.ts';
import { type FileRow, insertFileUse, lockFile } from './store.ts';

/** Which file is wanted, for what, and by whom. */
export interface FileUse {
  fileId: string;
  purpose: FilePurpose;
  /** The id of what runs, such as a batch. */
  userId: string;
  /** The field that named the file, as a dotted path: `input_file_id`, `config.file_ids.0`. */
  param: string;
}

/**
 * Says that work needs the organization's file until `deleteFileUses(sql, userId)`; meanwhile it cannot be deleted. For
 * the transaction that begins the work. Throws 404 `file_not_found`, and 400 `invalid_value` for a file of another purpose.
 */
export async function useFile(sql: Sql, organizationId: string, use: FileUse, at: Date): Promise<FileRow> {
  const { fileId, purpose, userId, param } = use;
  const row = isId('file', fileId) ? await lockFile(sql, organizationId, fileId) : null;
  if (row === null) throw notFound('file', fileId, param);
  if (row.purpose !== purpose) {
    throw invalidValue(param, `must be a file of the purpose '${purpose}'; this one's is '${row.purpose}'`);
  }
  await insertFileUse(sql, fileId, userId, at);
  return row;
}
