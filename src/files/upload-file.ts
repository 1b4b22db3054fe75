import { newBlobKey } from '../blobs/blob-store.ts';
import type { Deps } from '../deps.ts';
import { missingField } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import { checkPurpose, formatOf, requireName } from './formats.ts';
import { inspectContent } from './inspect-content.ts';
import { dropLooseBlob } from './orphaned-blobs.ts';
import type { FilePurpose } from './schema.ts';
import { type FileRow, insertFile, insertLooseBlob, takeLooseBlob } from './store.ts';

/** What the storing of a file needs. */
export type UploadDeps = Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'>;

/** A file on its way in. */
export interface NewFile {
  /** May hold a path: see `cleanName`. */
  filename: string;
  content: AsyncIterable<Uint8Array>;
  /** Null while it is not known. Asked again when the content has ended. */
  purpose: () => FilePurpose | null;
}

/** An upload that takes longer is broken off: the sweep of loose blobs relies on it. */
const MAX_UPLOAD_MS = 60 * 60 * 1000;

/**
 * Stores a file as it arrives, checks its bytes, and gives its row once both are durable. When it throws, or the process
 * ends before, no file is there. Throws 400 `invalid_value` with the param `file` for a name or bytes that are not taken, 400
 * `missing_required_field` when there is no purpose at the end, and what the content throws.
 */
export async function uploadFile(
  deps: UploadDeps,
  organizationId: string,
  file: NewFile,
  signal: AbortSignal,
): Promise<FileRow> {
  const filename = requireName(file.filename);
  const format = formatOf(filename);
  const early = file.purpose();
  if (early !== null) checkPurpose(format, early);
  const isForTraining = () => file.purpose() === 'fine-tune';
  const checked = atTheEnd(inspectContent(file.content, format, isForTraining), () =>
    checkPurpose(format, requirePurpose(file)),
  );
  const blobKey = newBlobKey();
  await insertLooseBlob(deps.db.sql, blobKey, new Date(deps.now()));
  try {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(MAX_UPLOAD_MS)]);
    const { bytes, sha256 } = await deps.blobs.put(blobKey, checked, bound);
    const row: FileRow = {
      // Made when it is there: ids are the order of lists, and no reader of one may miss it.
      id: newId('file'),
      organizationId,
      filename,
      purpose: requirePurpose(file),
      bytes,
      sha256,
      blobKey,
      status: 'uploaded',
      statusDetails: null,
      createdAt: new Date(deps.now()),
    };
    await keepFile(deps, row);
    return row;
  } catch (error) {
    await dropLooseBlob(deps, blobKey);
    throw error;
  }
}

/** From here on the bytes belong to a file. */
async function keepFile({ db }: UploadDeps, row: FileRow): Promise<void> {
  await db.sql.transaction(async (sql) => {
    // Whoever swept it has taken the bytes away.
    if (!(await takeLooseBlob(sql, row.blobKey))) throw new Error('the upload was taken for an abandoned one');
    await insertFile(sql, row);
  });
}

function requirePurpose(file: NewFile): FilePurpose {
  const purpose = file.purpose();
  if (purpose === null) throw missingField('purpose');
  return purpose;
}

/** Before the last piece counts as the last: a store keeps nothing of what ends with an error. */
async function* atTheEnd(content: AsyncIterable<Uint8Array>, check: () => void): AsyncGenerator<Uint8Array> {
  yield* content;
  check();
}
