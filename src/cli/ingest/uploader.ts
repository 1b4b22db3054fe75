import { constants, openAsBlob } from 'node:fs';
import { access } from 'node:fs/promises';
import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import { type ApiClient, Refused } from '../api-client.ts';
import { Interrupted } from '../interrupted.ts';
import { counted } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import { describeReadError } from './describe-read-error.ts';
import type { Failure, LocalDocument } from './find-documents.ts';
import { countDocuments } from './local-content.ts';
import { removeFiles } from './remove-files.ts';

/** Uploads that run at once: more would wait for each other in the service. */
const UPLOADS_AT_ONCE = 4;
/** The largest file that the service takes, 512 MiB: a larger one is not sent first. */
const MAX_BYTES = 536_870_912;
/** An upload that runs when the command is stopped may end within this time: broken off, nobody would know its id. */
const GRACE_MS = 5_000;
/** The service has looked at the file, and does not take it. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 415]);

/** The file itself is in the way, on this machine. */
class Unreadable extends Error {}

/** A document that has been uploaded. */
export interface Uploaded {
  id: string;
  /** Documents that the service makes of it. */
  documents: number;
}

/** Uploads documents, some at once, and shows how far it is. One that is refused harms no other. */
export class Uploader {
  /** What could not be uploaded so far. */
  readonly failures: Failure[] = [];
  readonly #api: ApiClient;
  readonly #line: StatusLine;
  readonly #total: number;
  #done = 0;

  /** `total` is how many documents there will be in all calls. */
  constructor(api: ApiClient, line: StatusLine, total: number) {
    this.#api = api;
    this.#line = line;
    this.#total = total;
  }

  /**
   * Uploads the documents; those that failed are not in the answer. When it throws, because the signal is aborted or the service cannot be
   * worked with, what it has uploaded is deleted again.
   */
  async upload(documents: readonly LocalDocument[], signal: AbortSignal): Promise<Map<LocalDocument, Uploaded>> {
    const uploaded = new Map<LocalDocument, Uploaded>();
    const cut = new AbortController();
    let grace: NodeJS.Timeout | undefined;
    const stop = () => {
      this.#line.say('Stopping: what was uploaded is deleted again. Ctrl-C once more ends at once.');
      grace = setTimeout(() => cut.abort(signal.reason), GRACE_MS);
    };
    signal.addEventListener('abort', stop, { once: true });
    const one = async (document: LocalDocument) => {
      this.#show();
      const sent = await this.#uploadOne(document, cut.signal);
      if (sent !== null) uploaded.set(document, sent);
      this.#done += 1;
      this.#show();
    };
    try {
      await forEachConcurrent(documents, UPLOADS_AT_ONCE, one, signal);
      signal.throwIfAborted();
    } catch (error) {
      await this.#takeBack([...uploaded.values()], error);
    } finally {
      clearTimeout(grace);
      signal.removeEventListener('abort', stop);
    }
    return uploaded;
  }

  async #uploadOne(document: LocalDocument, signal: AbortSignal): Promise<Uploaded | null> {
    try {
      const content = await openContent(document.path);
      if (content.size > MAX_BYTES) return this.#fail(document, 'It is larger than 512 MiB.');
      const form = new FormData();
      form.append('purpose', 'knowledge-base');
      form.append('file', content, document.name);
      const { id } = await this.#api.json<{ id: string }>('POST', '/v1/files', form, signal);
      return { id, documents: await countDocuments(document).catch(() => 1) };
    } catch (error) {
      const why = faultOfFile(error);
      if (why === null) throw error;
      return this.#fail(document, why);
    }
  }

  #fail({ name }: LocalDocument, message: string): null {
    this.failures.push({ name, message });
    return null;
  }

  #show(): void {
    const failed = this.failures.length;
    const what = failed === 0 ? 'uploading' : `uploading  ${failed} failed`;
    this.#line.show(what, { done: this.#done, total: this.#total });
  }

  /** Nobody would find the files again. */
  async #takeBack(uploaded: readonly Uploaded[], why: unknown): Promise<never> {
    this.#line.end();
    const left = await removeFiles(
      this.#api,
      uploaded.map(({ id }) => id),
    );
    if (!(why instanceof Interrupted)) throw why;
    if (uploaded.length === 0) throw why;
    const gone = `Stopped. Deleted again what had been uploaded: ${counted(uploaded.length - left, 'file')}.`;
    const stay = left === 0 ? '' : ` ${counted(left, 'file')} could not be deleted; GET /v1/files names them.`;
    throw new Interrupted(gone + stay);
  }
}

async function openContent(path: string): Promise<Blob> {
  try {
    // Says what is wrong, which the opening does not.
    await access(path, constants.R_OK);
    return await openAsBlob(path);
  } catch (error) {
    throw new Unreadable(describeReadError(error));
  }
}

/** Why this file, and not the service, is in the way; null where it is the service. */
function faultOfFile(error: unknown): string | null {
  if (error instanceof Unreadable) return error.message;
  if (error instanceof Refused) return REFUSALS.has(error.status) ? error.says.replace(/^'file' /, 'It ') : null;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'NotReadableError') return 'It changed while it was sent.';
  }
  return null;
}
