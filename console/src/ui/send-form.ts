import { ApiFailure, networkFailure } from '../api/client.ts';
import { parseJson } from './json.ts';

/** Progress callback and abort signal of an upload. */
export interface UploadProgress {
  /** Called with the progress from 0 to 1. */
  onProgress(share: number): void;
  signal?: AbortSignal;
}

/** Sends a form and reports progress, which `fetch` cannot. Throws `ApiFailure`, or the reason of `signal`. */
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
