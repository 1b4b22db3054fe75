import type { Schema } from '../api/types.ts';
import { sendForm, type UploadProgress } from '../ui/send-form.ts';

/** An uploaded file. */
export type UploadedFile = Schema<'File'>;
/** What a file is for. */
export type FilePurpose = UploadedFile['purpose'];

interface UploadOptions extends UploadProgress {
  /** Name in the service, which may contain folders (default: the name of the file). */
  name?: string;
}

/** Uploads a file. Throws as `sendForm`. */
export function uploadFile(
  file: File,
  purpose: FilePurpose,
  { name = file.name, ...progress }: UploadOptions,
): Promise<UploadedFile> {
  const form = new FormData();
  form.append('purpose', purpose);
  form.append('file', file, name);
  return sendForm('/v1/files', form, progress);
}
