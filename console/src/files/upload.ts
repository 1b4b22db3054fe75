import { ApiFailure, networkFailure } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { parseJson } from '../ui/json.ts';

/** An uploaded file. */
export type UploadedFile = Schema<'File'>;
/** What a file is for. */
export type FilePurpose = UploadedFile['purpose'];

/** Progress of an upload, and its end by the caller. */
export interface UploadProgress {
  /** Receives a share from 0 to 1. */
  onProgress(share: number): void;
  signal?: AbortSignal;
}

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

/** Sends a form with progress, which `fetch` does not report. Throws `ApiFailure`, or the reason of `signal`. */
export function sendForm<T>(path: string, form: FormData, { onProgress, signal }: UploadProgress): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    signal?.addEventListener('abort', () => request.abort(), { once: true });
    request.onabort = () => reject(signal?.reason);
    request.onerror = () => reject(networkFailure());
    request.onload = () => {
      const body = parseJson(request.responseText);
      if (request.status === 200) resolve(body as T);
      else reject(failure(request, body));
    };
    request.send(form);
  });
}

function failure(request: XMLHttpRequest, body: unknown): ApiFailure {
  const fallback = { message: `The service responded with ${request.status}.`, code: 'unknown', param: null };
  const error = (body as { error?: typeof fallback } | null)?.error ?? fallback;
  return new ApiFailure(request.status, error, request.getResponseHeader('x-request-id'));
}
