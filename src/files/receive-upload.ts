import { createHash } from 'node:crypto';
import { invalidValue } from '../errors.ts';
import { type FormSource, type IncomingForm, readForm } from '../http/multipart.ts';
import { cleanName } from './formats.ts';
import { FILE_PURPOSES, type FilePurpose, MAX_FILE_BYTES } from './schema.ts';
import type { FileRow } from './store.ts';
import { type NewFile, type UploadDeps, uploadFile } from './upload-file.ts';

const RULES = { file: 'file', maxFileBytes: MAX_FILE_BYTES, fields: ['purpose'] } as const;

/** Stores the file of a form as it arrives. Throws what `readForm` and `uploadFile` throw. */
export function receiveUpload(
  deps: UploadDeps,
  organizationId: string,
  source: FormSource,
  signal: AbortSignal,
): Promise<FileRow> {
  return readForm(source, RULES, signal, (form) => uploadFile(deps, organizationId, newFileOf(form), signal));
}

/** What makes two uploads the same: name, purpose and content, whatever boundary was drawn around them. */
export const identityOf = ({ filename, purpose, sha256 }: Pick<FileRow, 'filename' | 'purpose' | 'sha256'>): string =>
  JSON.stringify([filename, purpose, sha256]);

/** The identity of an upload that is read and not kept. */
export function identifyUpload(source: FormSource, signal: AbortSignal): Promise<string> {
  return readForm(source, RULES, signal, async (form) => {
    const file = newFileOf(form);
    const hash = createHash('sha256');
    for await (const piece of file.content) hash.update(piece);
    const purpose = file.purpose();
    return JSON.stringify([cleanName(file.filename), purpose, hash.digest('hex')]);
  });
}

function newFileOf({ filename, content, fields }: IncomingForm): NewFile {
  return { filename, content, purpose: () => purposeOf(fields.get('purpose')) };
}

function purposeOf(given: string | undefined): FilePurpose | null {
  if (given === undefined) return null;
  const purpose = FILE_PURPOSES.find((each) => each === given);
  if (purpose === undefined) throw invalidValue('purpose', `must be one of ${FILE_PURPOSES.join(', ')}`);
  return purpose;
}
