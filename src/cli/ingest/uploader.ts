import { constants, openAsBlob } from 'node:fs';
import { access } from 'node:fs/promises';
import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';
import { Interrupted } from '../interrupted.ts';
import { formatCount } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import { deleteFiles } from './delete-files.ts';
import { describeReadError, type IngestFailure, type LocalDocument } from './find-documents.ts';
import { countDocuments } from './local-content.ts';

/** Maximum number of concurrent uploads. More would only queue in the service. */
const MAX_CONCURRENT_UPLOADS = 4;
/** File size limit of the API (512 MiB), checked before the upload. */
const MAX_UPLOAD_BYTES = 536_870_912;
/** Time for uploads to finish after an interrupt: an aborted upload has no known id, so it cannot be deleted. */
const UPLOAD_GRACE_MS = 5_000;
/** Statuses that reject the file, not the request. */
const FILE_ERROR_STATUSES: ReadonlySet<number> = new Set([400, 413, 415]);

/** The local file cannot be read. */
class UnreadableFileError extends Error {}

/** An uploaded document. */
export interface UploadedFile {
  id: string;
  /** Number of documents that the service extracts from the file. */
  documents: number;
}

/** Uploads documents concurrently and shows the progress. A rejected document does not affect the others. */
export class Uploader {
  /** Documents that could not be uploaded. */
  readonly failures: IngestFailure[] = [];
  readonly #api: ApiClient;
  readonly #line: StatusLine;
  readonly #total: number;
  #done = 0;

  /** `total` is the number of documents over all calls of `upload`. */
  constructor(api: ApiClient, line: StatusLine, total: number) {
    this.#api = api;
    this.#line = line;
    this.#total = total;
  }

  /**
   * Uploads documents. The result lacks documents that failed. Throws when the signal aborts or the service fails; the
   * files uploaded by this call are deleted then.
   */
  async upload(documents: readonly LocalDocument[], signal: AbortSignal): Promise<Map<LocalDocument, UploadedFile>> {
    const uploaded = new Map<LocalDocument, UploadedFile>();
    const abort = new AbortController();
    let grace: NodeJS.Timeout | undefined;
    const onAbort = () => {
      this.#line.printLine('Stopping: deleting the uploaded files. Press Ctrl-C again to exit immediately.');
      grace = setTimeout(() => abort.abort(signal.reason), UPLOAD_GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const uploadNext = async (document: LocalDocument) => {
      this.#show();
      const sent = await this.#uploadOne(document, abort.signal);
      if (sent !== null) uploaded.set(document, sent);
      this.#done += 1;
      this.#show();
    };
    try {
      await forEachConcurrent(documents, MAX_CONCURRENT_UPLOADS, uploadNext, signal);
      signal.throwIfAborted();
    } catch (error) {
      await this.#rollBack([...uploaded.values()], error);
    } finally {
      clearTimeout(grace);
      signal.removeEventListener('abort', onAbort);
    }
    return uploaded;
  }

  async #uploadOne(document: LocalDocument, signal: AbortSignal): Promise<UploadedFile | null> {
    try {
      const content = await openContent(document.path);
      if (content.size > MAX_UPLOAD_BYTES) return this.#fail(document, 'It is larger than 512 MiB.');
      const form = new FormData();
      form.append('purpose', 'knowledge-base');
      form.append('file', content, document.name);
      const { id } = await this.#api.json<{ id: string }>('POST', '/v1/files', form, { signal });
      return { id, documents: await countDocuments(document).catch(() => 1) };
    } catch (error) {
      const message = fileErrorMessage(error);
      if (message === null) throw error;
      return this.#fail(document, message);
    }
  }

  #fail({ name }: LocalDocument, message: string): null {
    this.failures.push({ name, message });
    return null;
  }

  #show(): void {
    const failed = this.failures.length;
    const label = failed === 0 ? 'uploading' : `uploading  ${failed} failed`;
    this.#line.show(label, { done: this.#done, total: this.#total });
  }

  /** Deletes the uploaded files, which no data source refers to, and rethrows. */
  async #rollBack(uploaded: readonly UploadedFile[], error: unknown): Promise<never> {
    this.#line.end();
    const undeleted = await deleteFiles(
      this.#api,
      uploaded.map(({ id }) => id),
    );
    if (!(error instanceof Interrupted)) throw error;
    if (uploaded.length === 0) throw error;
    const deleted = `Stopped. Deleted the uploaded files: ${formatCount(uploaded.length - undeleted, 'file')}.`;
    const remaining =
      undeleted === 0 ? '' : ` ${formatCount(undeleted, 'file')} could not be deleted; see GET /v1/files.`;
    throw new Interrupted(deleted + remaining);
  }
}

async function openContent(path: string): Promise<Blob> {
  try {
    // `openAsBlob` does not report the reason of a failure.
    await access(path, constants.R_OK);
    return await openAsBlob(path);
  } catch (error) {
    throw new UnreadableFileError(describeReadError(error));
  }
}

/** Returns the message of an error caused by the file itself; null for errors of the service. */
function fileErrorMessage(error: unknown): string | null {
  if (error instanceof UnreadableFileError) return error.message;
  if (error instanceof HttpStatusError)
    return FILE_ERROR_STATUSES.has(error.status) ? error.detail.replace(/^'file' /, 'It ') : null;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'NotReadableError') return 'The file changed during the upload.';
  }
  return null;
}
