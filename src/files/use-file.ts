import type { Sql } from '../db/db.ts';
import { invalidValue, notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import type { FilePurpose } from './schema.ts';
import { type FileRow, insertFileUses, lockFile, lockFiles } from './store.ts';

/** Which file is wanted, for what, and by whom. */
export interface FileUse {
  fileId: string;
  purpose: FilePurpose;
  /** The id of what runs, such as a batch. */
  userId: string;
  /** The field that named the file, as a dotted path: `input_file_id`, `config.file_ids.0`. */
  param: string;
}

/** Which files are wanted, and for what. */
export interface WantedFiles {
  fileIds: readonly string[];
  purpose: FilePurpose;
  /** The field that named the file of that index. */
  paramOf(index: number): string;
}

/**
 * Says that work needs the organization's file until `deleteFileUses(sql, userId)`; meanwhile it cannot be deleted. For
 * the transaction that begins the work. Throws 404 `file_not_found`, and 400 `invalid_value` for a file of another purpose.
 */
export async function useFile(sql: Sql, organizationId: string, use: FileUse, at: Date): Promise<FileRow> {
  const { fileId, purpose, userId, param } = use;
  const row = isId('file', fileId) ? await lockFile(sql, organizationId, fileId) : null;
  const file = requireFile(row, { fileId, purpose, param });
  await insertFileUses(sql, [fileId], userId, at);
  return file;
}

/** Holds the files against being deleted until the transaction ends. Throws as `useFile` does, for the first that is amiss. */
export async function requireFiles(sql: Sql, organizationId: string, wanted: WantedFiles): Promise<void> {
  const { fileIds, purpose, paramOf } = wanted;
  const ids = fileIds.filter((id) => isId('file', id));
  const rows = new Map((await lockFiles(sql, organizationId, ids)).map((row) => [row.id, row]));
  for (const [index, fileId] of fileIds.entries()) {
    const row = rows.get(fileId) ?? null;
    if (row?.purpose !== purpose) requireFile(row, { fileId, purpose, param: paramOf(index) });
  }
}

/** The same as `useFile` for those of the files that are still there. */
export async function useFilesLeft(
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
