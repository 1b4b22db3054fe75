import type { Sql } from '../db/db.ts';
import { invalidValue, notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import type { FilePurpose } from './formats.ts';
import { type FileRow, insertFileUses, lockFile, lockFiles } from './store.ts';

/** A use of one file. */
export interface FileUse {
  fileId: string;
  purpose: FilePurpose;
  /** Id of the batch or job that uses the file. */
  userId: string;
  /** Dotted path of the request field with the id: `input_file_id`, `config.file_ids.0`. */
  param: string;
}

/** Files that a request refers to. */
export interface RequiredFiles {
  fileIds: readonly string[];
  purpose: FilePurpose;
  /** Dotted path of the request field of the file at `index`. */
  paramAt(index: number): string;
}

/**
 * Records the use of a file until `deleteFileUses(sql, userId)`; it cannot be deleted meanwhile. Call it in the
 * transaction that starts the work. Throws 404 `file_not_found`, and 400 `invalid_value` for a file of another purpose.
 */
export async function useFile(sql: Sql, organizationId: string, use: FileUse, at: Date): Promise<FileRow> {
  const { fileId, purpose, userId, param } = use;
  const row = isId('file', fileId) ? await lockFile(sql, organizationId, fileId) : null;
  const file = requireFile(row, { fileId, purpose, param });
  await insertFileUses(sql, [fileId], userId, at);
  return file;
}

/** Locks files against deletion until the transaction ends. Throws like `useFile` for the first invalid file. */
export async function requireFiles(sql: Sql, organizationId: string, required: RequiredFiles): Promise<void> {
  const { fileIds, purpose, paramAt } = required;
  const ids = fileIds.filter((id) => isId('file', id));
  const rows = new Map((await lockFiles(sql, organizationId, ids)).map((row) => [row.id, row]));
  for (const [index, fileId] of fileIds.entries()) {
    const row = rows.get(fileId) ?? null;
    if (row?.purpose !== purpose) requireFile(row, { fileId, purpose, param: paramAt(index) });
  }
}

/** Records the use of those files that still exist. */
export async function useExistingFiles(
  sql: Sql,
  organizationId: string,
  { fileIds, userId }: { fileIds: readonly string[]; userId: string },
  at: Date,
): Promise<void> {
  const rows = await lockFiles(sql, organizationId, fileIds);
  await insertFileUses(
    sql,
    rows.map(({ id }) => id),
    userId,
    at,
  );
}

function requireFile(row: FileRow | null, { fileId, purpose, param }: Omit<FileUse, 'userId'>): FileRow {
  if (row === null) throw notFound('file', fileId, param);
  if (row.purpose === purpose) return row;
  throw invalidValue(param, `must be a file of the purpose '${purpose}'; this one's is '${row.purpose}'`);
}
