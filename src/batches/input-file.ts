import { buffer } from 'node:stream/consumers';
import type { Deps } from '../deps.ts';
import { readContent } from '../files/read-content.ts';
import { type FileRow, selectFile } from '../files/store.ts';
import type { LineBody } from './endpoints.ts';
import type { PendingLine } from './line-store.ts';
import type { BatchRow } from './store.ts';

/** Selects the input file of a batch. It exists until the batch ends, because the batch uses it. */
export async function requireInputFile({ db }: Pick<Deps, 'db'>, batch: BatchRow): Promise<FileRow> {
  const file = await selectFile(db.sql, batch.organizationId, batch.inputFileId);
  if (file === null) throw new Error(`the input file of ${batch.id} is missing`);
  return file;
}

/** Reads the body of a validated line from the input file. */
export async function readLineBody(
  deps: Pick<Deps, 'blobs'>,
  file: FileRow,
  { start, bytes }: PendingLine,
  signal: AbortSignal,
): Promise<LineBody> {
  const content = await buffer(await readContent(deps, file, { start, end: start + bytes - 1 }, signal));
  const { body } = JSON.parse(content.toString('utf8')) as { body: LineBody };
  return body;
}
