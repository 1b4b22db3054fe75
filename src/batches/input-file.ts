import type { Deps } from '../deps.ts';
import { type FileRow, selectFile } from '../files/store.ts';
import type { BatchRow } from './store.ts';

/** Selects the input file of a batch. It exists until the batch ends, because the batch uses it. */
export async function requireInputFile({ db }: Pick<Deps, 'db'>, batch: BatchRow): Promise<FileRow> {
  const file = await selectFile(db.sql, batch.organizationId, batch.inputFileId);
  if (file === null) throw new Error(`the input file of ${batch.id} is missing`);
  return file;
}
