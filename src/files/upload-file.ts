import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { missingField } from '../errors.ts';
import type { Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { CHECK_FILE } from './check-job.ts';
import { addSeconds } from './expiry.ts';
import {
  ATTACHMENT_EXTENSIONS,
  type FilePurpose,
  needsCheck,
  requireFilename,
  requireFormat,
  requirePurposeFormat,
} from './formats.ts';
import { inspectContent } from './inspect-content.ts';
import { deleteOrphanedBlob } from './orphaned-blobs.ts';
import type { FileRow } from './store.ts';
import { commitFile, storeContent } from './store-content.ts';

/** Dependencies of uploads. */
export type UploadDeps = Pick<Deps, 'db' | 'blobs' | 'jobs' | 'logger' | 'now'>;

/** A file to upload. */
export interface NewFile {
  /** File name or path, sanitized by `sanitizeFilename`. */
  filename: string;
  content: AsyncIterable<Uint8Array>;
  /** Returns null until the form field has arrived. Called again at the end of the content. */
  purpose: () => FilePurpose | null;
  /** Id of the user or key whose chat owns the file, which may have any format of chats. Absent if it is shared. */
  privateTo?: string;
  /** Called in the transaction that commits the file. */
  onCommit?: (sql: Sql, id: string) => Promise<void>;
  /** Seconds after which the file expires; null: never. Called at the end of the content. */
  expirySeconds?: () => number | null;
}

/**
 * Stores a file while it arrives and inspects its content; a job checks the formats that `needsCheck`. Returns the row
 * once bytes and row are durable; on errors and crashes no file exists. Throws 400 `invalid_value` (param `file`) for
 * an unsupported name or content, 400 `missing_required_field` without a purpose, and the errors of `file.content`.
 */
export async function uploadFile(
  deps: UploadDeps,
  { organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>,
  file: NewFile,
  signal: AbortSignal,
): Promise<FileRow> {
  const filename = requireFilename(file.filename);
  const { privateTo = null } = file;
  const format = requireFormat(filename, privateTo === null ? undefined : ATTACHMENT_EXTENSIONS);
  const requireAllowed = (purpose: FilePurpose) => privateTo ?? requirePurposeFormat(format, purpose);
  const earlyPurpose = file.purpose();
  if (earlyPurpose !== null) requireAllowed(earlyPurpose);
  const isFineTune = () => file.purpose() === 'fine-tune';
  const checked = withFinalCheck(inspectContent(file.content, format, isFineTune), () => {
    requireAllowed(requirePurpose(file));
    file.expirySeconds?.();
  });
  const stored = await storeContent(deps, checked, signal);
  try {
    const createdAt = new Date(deps.now());
    const row: FileRow = {
      // Created after the upload: lists are in id order, and a reader that pages through must not miss the file.
      id: newId('file'),
      organizationId,
      createdBy: keyId,
      privateTo,
      filename,
      purpose: requirePurpose(file),
      ...stored,
      status: needsCheck(format) ? 'unchecked' : 'uploaded',
      statusDetails: null,
      createdAt,
      expiresAt: addSeconds(createdAt, file.expirySeconds?.() ?? null),
    };
    await deps.db.sql.transaction(async (sql) => {
      await commitFile(sql, row);
      await file.onCommit?.(sql, row.id);
      if (row.status !== 'unchecked') return;
      const { id: fileId } = row;
      await deps.jobs.enqueue(sql, CHECK_FILE, { fileId, organizationId }, { key: fileId, group: organizationId });
    });
    return row;
  } catch (error) {
    await deleteOrphanedBlob(deps, stored.blobKey);
    throw error;
  }
}

function requirePurpose(file: NewFile): FilePurpose {
  const purpose = file.purpose();
  if (purpose === null) throw missingField('purpose');
  return purpose;
}

/** Runs a check before the end of the stream. Blob stores discard streams that end with an error. */
async function* withFinalCheck(content: AsyncIterable<Uint8Array>, check: () => void): AsyncGenerator<Uint8Array> {
  yield* content;
  check();
}
