import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import {
  ApiError,
  fileTooLarge,
  invalidValue,
  missingField,
  requestTimeout,
  requestTooLarge,
  unsupportedMediaType,
} from '../errors.ts';
import { exemptFromRequestTimeout } from './client-error.ts';
import { ClientDisconnected } from './event-stream.ts';

/** Accepted fields of a form. Other fields are skipped, within bounds. */
export interface FormRules {
  /** Field name of the single file. */
  file: string;
  maxFileBytes: number;
  /** Names of accepted text fields; each may occur once. */
  fields: readonly string[];
  /** Time without a byte after which the form is rejected with 408. Default: 60 s. The whole form has no time limit. */
  idleTimeoutMs?: number;
}

/** A form whose file part has started. */
export interface IncomingForm {
  /** File name as sent, with form escapes (%22, %0D, %0A) decoded. May contain a path or be empty. */
  filename: string;
  /**
   * The bytes of the file, with backpressure. Completes only after the whole form was valid, so `fields` then holds the
   * fields that follow the file. Throws the form's error or the signal's reason.
   */
  content: AsyncIterable<Uint8Array>;
  /** Accepted text fields received so far. */
  fields: ReadonlyMap<string, string>;
}

/** Maximum number of fields, including skipped ones. */
const MAX_FIELDS = 32;
/** Maximum size of a text field. Quire's own fields are single words. */
const MAX_FIELD_BYTES = 16_384;
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADER_PAIRS = 32;
/** Maximum bytes of the form besides the file: part headers, fields, preamble and epilogue. */
const MAX_OVERHEAD_BYTES = 1_048_576;
/** RFC 2046, section 5.1.1. The boundary search costs up to this many comparisons per byte. */
const MAX_BOUNDARY_CHARACTERS = 70;

const FORM_TYPE = /^multipart\/form-data\s*(;|$)/i;
const BOUNDARY = /;\s*boundary=(?:"([^"]*)"|([^\s;]*))/i;

/** Default of `FormRules.idleTimeoutMs`. */
const IDLE_TIMEOUT_MS = 60_000;

/** A request whose body has not been read. */
export type FormSource = Readable & { headers: Record<string, unknown>; socket?: Socket };

/**
 * Streams a `multipart/form-data` body; the file is not buffered. Calls `use` when the file part starts and returns its
 * result. Throws 415 for other content types, 413 for a file or form that is too large (from `Content-Length` before
 * reading, else while reading), 408 when no byte arrives for a while, and 400 for a malformed form, a missing file or a
 * second file. Bytes that `use` does not read are discarded. The source is not destroyed: the response is sent over the
 * same connection.
 */
export async function readForm<T>(
  source: FormSource,
  rules: FormRules,
  signal: AbortSignal,
  use: (form: IncomingForm) => Promise<T>,
): Promise<T> {
  const contentType = checkHeaders(source, rules);
  signal.throwIfAborted();
  const endExemption = source.socket === undefined ? () => {} : exemptFromRequestTimeout(source.socket);
  const reader = new FormReader(source, contentType, rules, signal);
  try {
    return await use(await reader.file);
  } finally {
    endExemption();
    reader.stop();
  }
}

function checkHeaders(source: FormSource, rules: FormRules): string {
  const { 'content-type': type, 'content-length': length } = source.headers;
  if (type === undefined) throw missingField(rules.file);
  const contentType = String(type);
  if (!FORM_TYPE.test(contentType)) throw unsupportedMediaType(contentType, 'multipart/form-data');
  const [, quoted, bare] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? bare ?? '';
  if (boundary === '' || boundary.length > MAX_BOUNDARY_CHARACTERS) {
    throw invalidValue('content-type', `must name a boundary of 1 to ${MAX_BOUNDARY_CHARACTERS} characters`);
  }
  if (Number(length ?? 0) > rules.maxFileBytes + MAX_OVERHEAD_BYTES) throw fileTooLarge(rules.maxFileBytes);
  return contentType;
}

/** Feeds the body to the parser chunk by chunk. Settles exactly once: complete or failed. */
class FormReader {
  readonly #source: Readable;
  readonly #rules: FormRules;
  readonly #parser: BusboyInstance;
  readonly #fields = new Map<string, string>();
  readonly #file = Promise.withResolvers<IncomingForm>();
  readonly #end = Promise.withResolvers<void>();
  #stream: BusboyFileStream | null = null;
  #failure: unknown = null;
  #isSettled = false;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Resumes a read that waits for the parser's backpressure. */
  #resumePump = () => {};

  constructor(source: Readable, contentType: string, rules: FormRules, signal: AbortSignal) {
    this.#source = source;
    this.#rules = rules;
    this.#parser = new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      // The file field is always a file part, so it is never buffered as text; other file parts are skipped like
      // fields.
      isPartAFile: (name) => name === rules.file,
      limits: {
        files: 1,
        fileSize: rules.maxFileBytes,
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: MAX_HEADER_PAIRS,
        headerSize: MAX_HEADER_BYTES,
      },
    });
    this.#listen();
    const abort = () => this.#fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#end.promise.catch(() => {}).finally(() => signal.removeEventListener('abort', abort));
    void this.#pump();
  }

  /** Resolves when the file part starts. */
  get file(): Promise<IncomingForm> {
    return this.#file.promise;
  }

  /** Stops reading. No effect after the form is complete. */
  stop(): void {
    this.#fail(new Error('reading of the form was stopped'));
  }

  #listen(): void {
    const { file, fields } = this.#rules;
    const failMalformed = (defect: string) =>
      this.#fail(invalidValue('body', `is not a whole multipart form: ${defect}`));
    this.#parser
      .on('file', (_name, stream, filename) => this.#begin(stream, filename ?? ''))
      .on('field', (name, value, _nameTruncated, valueTruncated) => {
        if (valueTruncated) this.#fail(invalidValue(name, `must not be longer than ${MAX_FIELD_BYTES} bytes`));
        if (!fields.includes(name)) return;
        if (this.#fields.has(name)) this.#fail(invalidValue(name, 'must be sent once'));
        this.#fields.set(name, value);
      })
      .on('filesLimit', () => this.#fail(invalidValue(file, 'must be one file')))
      .on('fieldsLimit', () => this.#fail(invalidValue('body', `must not have more than ${MAX_FIELDS} fields`)))
      .on('error', (error) => failMalformed(error instanceof Error ? lowerFirst(error.message) : 'it cannot be parsed'))
      .on('finish', () => this.#finish());
  }

  #begin(stream: BusboyFileStream, sentName: string): void {
    this.#stream = stream;
    // Errors surface in `#content`; this handler only prevents an uncaught exception.
    stream.on('error', () => {});
    stream.on('limit', () => this.#fail(fileTooLarge(this.#rules.maxFileBytes)));
    const filename = sentName.replaceAll(/%(?:22|0a|0d)/gi, decodeURIComponent);
    this.#file.resolve({ filename, content: this.#content(stream), fields: this.#fields });
  }

  async *#content(stream: BusboyFileStream): AsyncGenerator<Uint8Array> {
    try {
      yield* stream;
      await this.#end.promise;
    } catch (error) {
      throw this.#failure ?? error;
    } finally {
      this.stop();
    }
  }

  async #pump(): Promise<void> {
    let received = 0;
    this.#startIdleTimer();
    try {
      // By default the iterator destroys the request and with it the connection of the response.
      for await (const chunk of this.#source.iterator({ destroyOnReturn: false })) {
        // A blob store that is slow to take the bytes is not the client's fault.
        clearTimeout(this.#idleTimer);
        received += chunk.length;
        if (received - (this.#stream?.bytesRead ?? 0) > MAX_OVERHEAD_BYTES + chunk.length) {
          throw requestTooLarge(MAX_OVERHEAD_BYTES, 'The form without its file');
        }
        await this.#feed(chunk);
        if (this.#isSettled) return;
        this.#startIdleTimer();
      }
      this.#parser.end();
    } catch (error) {
      this.#fail(error instanceof ApiError ? error : new ClientDisconnected());
    } finally {
      clearTimeout(this.#idleTimer);
      // Discards the remaining bytes, so that the connection can be reused. Deferred: the iterator detaches
      // asynchronously.
      setImmediate(() => this.#source.resume());
    }
  }

  #startIdleTimer(): void {
    this.#idleTimer = setTimeout(() => this.#fail(requestTimeout()), this.#rules.idleTimeoutMs ?? IDLE_TIMEOUT_MS);
  }

  #feed(chunk: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#resumePump = resolve;
      if (this.#isSettled) resolve();
      else this.#parser.write(chunk, () => resolve());
    });
  }

  #finish(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#file.reject(missingField(this.#rules.file));
    this.#end.resolve();
    this.#resumePump();
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#failure = error;
    // The source may never send another byte.
    clearTimeout(this.#idleTimer);
    this.#file.reject(error);
    this.#end.reject(error);
    this.#stream?.destroy();
    this.#resumePump();
  }
}

const lowerFirst = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1);
