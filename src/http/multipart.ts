import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import {
  ApiError,
  fileTooLarge,
  invalidValue,
  missingField,
  requestTooLarge,
  unsupportedMediaType,
} from '../errors.ts';
import { ClientDisconnected } from './event-stream.ts';

/** What a form may hold. Everything else in it is read over, within bounds. */
export interface FormRules {
  /** The name of the one file's field. */
  file: string;
  maxFileBytes: number;
  /** Names of the text fields that are kept; each may be sent once. */
  fields: readonly string[];
}

/** A form whose file has begun to arrive. */
export interface IncomingForm {
  /** As the client has it: it may hold a path, or be empty. Quotes and ends of lines are as they were before the form escaped them. */
  filename: string;
  /**
   * The file's bytes, as fast as they are read. Ends well only if the whole form does, so that what follows the file is
   * in `fields` then. Throws what is wrong with the form, or the signal's reason.
   */
  content: AsyncIterable<Uint8Array>;
  /** The kept fields that have arrived by now. */
  fields: ReadonlyMap<string, string>;
}

/** A form has a handful of parts; these are read over if they are unknown. */
const MAX_FIELDS = 32;
/** Our own fields are words; unknown ones may be a little JSON. */
const MAX_FIELD_BYTES = 16_384;
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADER_PAIRS = 32;
/** Everything beside the file's bytes: part headers, fields, and what may be around them. */
const MAX_OVERHEAD_BYTES = 1_048_576;
/** By RFC 2046. The search for it takes its length for every byte in the worst case. */
const MAX_BOUNDARY_CHARACTERS = 70;

const FORM_TYPE = /^multipart\/form-data\s*(;|$)/i;
const BOUNDARY = /;\s*boundary=(?:"([^"]*)"|([^\s;]*))/i;

/** A request as Node has it: its body has not been read. */
export type FormSource = Readable & { headers: Record<string, unknown> };

/**
 * Reads a `multipart/form-data` body as it arrives; nothing of the file is kept. Calls `use` when the file begins and gives
 * its result. Throws 415 for another type, 413 by `Content-Length` before a byte is read or later when they are counted,
 * 400 for what is no form, a form without the file, and a second file. What `use` has not read is thrown away, and the
 * source is not destroyed: the answer goes out over its connection.
 */
export async function readForm<T>(
  source: FormSource,
  rules: FormRules,
  signal: AbortSignal,
  use: (form: IncomingForm) => Promise<T>,
): Promise<T> {
  const contentType = checkHeaders(source, rules);
  signal.throwIfAborted();
  const reader = new FormReader(source, contentType, rules, signal);
  try {
    return await use(await reader.file);
  } finally {
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

/** Feeds a form to its parser, one piece at a time, and settles exactly once: whole, or failed. */
class FormReader {
  readonly #source: Readable;
  readonly #rules: FormRules;
  readonly #parser: BusboyInstance;
  readonly #fields = new Map<string, string>();
  readonly #file = Promise.withResolvers<IncomingForm>();
  readonly #end = Promise.withResolvers<void>();
  #stream: BusboyFileStream | null = null;
  #failure: unknown = null;
  #isOver = false;
  /** Lets the reading go on that waits for the parser, which waits for the file's reader. */
  #goOn = () => {};

  constructor(source: Readable, contentType: string, rules: FormRules, signal: AbortSignal) {
    this.#source = source;
    this.#rules = rules;
    this.#parser = new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      // Whatever is sent as the file is one, so that it is never gathered as text; another file is read over as a field is.
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

  /** Resolves when the file begins. */
  get file(): Promise<IncomingForm> {
    return this.#file.promise;
  }

  /** Reads no more of the form, unless it is read already. */
  stop(): void {
    this.#fail(new Error('the form is not read any more'));
  }

  #listen(): void {
    const { file, fields } = this.#rules;
    const isMalformed = (why: string) => this.#fail(invalidValue('body', `is not a whole multipart form: ${why}`));
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
      .on('error', (error) => isMalformed(error instanceof Error ? lowered(error.message) : 'it cannot be parsed'))
      .on('finish', () => this.#finish());
  }

  #begin(stream: BusboyFileStream, sentName: string): void {
    this.#stream = stream;
    // The reader of the content is told; nobody else needs to be.
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
    try {
      // The iterator would destroy the request, and with it the connection for the answer.
      for await (const piece of this.#source.iterator({ destroyOnReturn: false })) {
        received += piece.length;
        if (received - (this.#stream?.bytesRead ?? 0) > MAX_OVERHEAD_BYTES + piece.length) {
          throw requestTooLarge(MAX_OVERHEAD_BYTES, 'What the form holds beside its file');
        }
        await this.#feed(piece);
        if (this.#isOver) return;
      }
      this.#parser.end();
    } catch (error) {
      this.#fail(error instanceof ApiError ? error : new ClientDisconnected());
    } finally {
      // Nobody reads the rest, and the connection is of use again only behind it. Not now: the iterator lets go later.
      setImmediate(() => this.#source.resume());
    }
  }

  #feed(piece: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve;
      if (this.#isOver) resolve();
      else this.#parser.write(piece, () => resolve());
    });
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#file.reject(missingField(this.#rules.file));
    this.#end.resolve();
    this.#goOn();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = error;
    this.#file.reject(error);
    this.#end.reject(error);
    this.#stream?.destroy();
    this.#goOn();
  }
}

const lowered = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1);
