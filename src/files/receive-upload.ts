import { createHash } from 'node:crypto';
import { invalidValue } from '../errors.ts';
import { type FormSource, type IncomingForm, readForm } from '../http/multipart.ts';
import type { Caller } from '../lib/caller.ts';
import { EXPIRY_FIELDS, parseExpiry } from './expiry.ts';
import { type FilePurpose, REQUEST_PURPOSES, resolvePurpose, sanitizeFilename } from './formats.ts';
import { MAX_UPLOAD_BYTES } from './schema.ts';
import type { FileRow } from './store.ts';
import { type NewFile, type UploadDeps, uploadFile } from './upload-file.ts';

const FORM_RULES = { file: 'file', maxFileBytes: MAX_UPLOAD_BYTES, fields: ['purpose', ...EXPIRY_FIELDS] } as const;

/** Stores the file of a multipart form while it arrives. Throws the errors of `readForm` and `uploadFile`. */
export function receiveUpload(
  deps: UploadDeps,
  caller: Pick<Caller, 'organizationId' | 'keyId'>,
  source: FormSource,
  signal: AbortSignal,
): Promise<FileRow> {
  return readForm(source, FORM_RULES, signal, (form) => uploadFile(deps, caller, toNewFile(form), signal));
}

/** Returns the identity of an upload for idempotency: its fields and content, not the multipart boundary. */
export function uploadIdentity({ createdAt, expiresAt, ...row }: FileRow): string {
  const seconds = expiresAt === null ? null : (expiresAt.getTime() - createdAt.getTime()) / 1_000;
  return toIdentity(row, seconds);
}

type Identified = { filename: string; purpose: FileRow['purpose'] | null; sha256: string };

/** An upload without expiry has the identity that it had before files could expire. */
const toIdentity = ({ filename, purpose, sha256 }: Identified, seconds: number | null): string =>
  JSON.stringify([filename, purpose, sha256, ...(seconds === null ? [] : [seconds])]);

/** Computes the identity of an upload without storing it. */
export function identifyUpload(source: FormSource, signal: AbortSignal): Promise<string> {
  return readForm(source, FORM_RULES, signal, async (form) => {
    const file = toNewFile(form);
    const hash = createHash('sha256');
    for await (const bytes of file.content) hash.update(bytes);
    const filename = sanitizeFilename(file.filename);
    return toIdentity(
      { filename, purpose: file.purpose(), sha256: hash.digest('hex') },
      file.expirySeconds?.() ?? null,
    );
  });
}

function toNewFile({ filename, content, fields }: IncomingForm): NewFile {
  return {
    filename,
    content,
    purpose: () => parsePurpose(fields.get('purpose')),
    expirySeconds: () => parseExpiry(fields),
  };
}

function parsePurpose(value: string | undefined): FilePurpose | null {
  if (value === undefined) return null;
  const purpose = resolvePurpose(value);
  if (purpose === null) throw invalidValue('purpose', `must be one of ${REQUEST_PURPOSES.join(', ')}`);
  return purpose;
}
