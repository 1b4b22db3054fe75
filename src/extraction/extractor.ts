import { tmpdir } from 'node:os';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import { type DocumentFormat, documentFormat, parseCharset } from './formats.ts';
import { IngestionError } from './ingestion-error.ts';
import { DOCUMENT_SECONDS } from './limits.ts';
import type { PageImage, PageRequest } from './pdf/render-page.ts';
import { READER_LIMITS, type ReaderLimits, ReaderProcess } from './reader-process.ts';
import { spool } from './spool.ts';

/** Default maximum of reader processes, so that one file of millions of lines does not delay all others. */
const READERS = 2;
/** Maximum files that wait for a reader. Each belongs to a job, and fewer jobs run. */
const MAX_WAITING = 256;
/** Average characters per token over texts in Latin script. */
const CHARACTERS_PER_TOKEN = 4;
/**
 * Time that a file waits for a busy reader before another is started. Most files take a tenth of it, so one process,
 * which takes 60 to 110 MB, usually reads them all. Starting one takes 250 ms.
 */
const START_ANOTHER_MS = 500;
/** Time after which an idle reader exits to free its memory. */
const IDLE_MS = 30_000;

/** A file as a data source delivers it. */
export interface SourceFile {
  name: string;
  /** May carry a charset; null when unknown. */
  mediaType: string | null;
  content: AsyncIterable<Uint8Array>;
}

/** How a file is extracted. */
type ExtractionOptions = Pick<ReaderInput, 'textFields' | 'isCheck' | 'onPage'> & { chunkSizeTokens: number };

/** Options of an `Extractor`. */
export interface ExtractorOptions {
  /** Maximum reader processes. */
  readers?: number;
  /** Folder for files above 1 MiB while they are read; default: the system's temporary folder. */
  folder?: string;
  limits?: Partial<ReaderLimits>;
  /** How images and pages without text are read; absent: they are not. */
  ocr?: ReaderInput['ocr'];
  /** Called with the reason whenever a document ends its reader process. */
  onReaderCrash?: (reason: string) => void;
}

/** Extracts documents in a pool of child processes. */
export class Extractor {
  readonly #folder: string;
  readonly #ocr: ReaderInput['ocr'];
  readonly #readers: ReaderProcess[];
  readonly #free: ReaderProcess[];
  readonly #idleTimers = new Map<ReaderProcess, NodeJS.Timeout>();
  readonly #waiting: ((reader: ReaderProcess) => void)[] = [];
  readonly #closed = new AbortController();

  constructor({ readers = READERS, folder = tmpdir(), limits, ocr, onReaderCrash = () => {} }: ExtractorOptions = {}) {
    this.#folder = folder;
    this.#ocr = ocr;
    const allLimits = { ...READER_LIMITS, seconds: DOCUMENT_SECONDS, ...limits };
    this.#readers = Array.from({ length: readers }, () => new ReaderProcess(allLimits, onReaderCrash));
    this.#free = [...this.#readers];
  }

  /**
   * Yields the documents of a file as the caller consumes them: usually one, one per line of JSONL, several of a large
   * table. An error of the whole file comes last, with an empty part: `unsupported_file`, `invalid_file`,
   * `encrypted_file`, `no_text`, `timeout` or `too_large`; retrying would give the same. A file keeps its reader until
   * it is read or the caller stops, so a caller must not wait for a second file meanwhile. Throws the signal's reason,
   * errors of `content`, and after `close`.
   */
  async *extract(
    { name, mediaType, content }: SourceFile,
    { chunkSizeTokens, ...reading }: ExtractionOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Extraction> {
    const format = documentFormat(name, mediaType);
    if (format === null) {
      const message =
        'Unsupported document format: it must be PDF, DOCX, XLSX, PPTX, ODT, ODS, ODP, RTF, EPUB, EML, MSG, ZIP, HTML, Markdown, CSV, JSON, JSONL, PNG, JPEG, TIFF, WebP or plain text.';
      yield { part: '', error: new IngestionError('unsupported_file', message) };
      return;
    }
    const abort = AbortSignal.any([signal, this.#closed.signal]);
    try {
      const { bytes, remove, content: spooled } = await spool(content, this.#folder, abort);
      try {
        const chunkCharacters = chunkSizeTokens * CHARACTERS_PER_TOKEN;
        const input = {
          content: spooled,
          bytes,
          charset: parseCharset(mediaType),
          chunkCharacters,
          ocr: this.#ocr,
          ...reading,
        };
        yield* this.#read(format, input, abort);
      } finally {
        await remove();
      }
    } catch (error) {
      if (!(error instanceof IngestionError) || error.code !== 'too_large') throw error;
      yield { part: '', error };
    }
  }

  /**
   * Renders a page of a PDF or of an image. Throws an `IngestionError`: `not_found` for a page that does not exist,
   * the errors of `extract` for a file that cannot be read. Throws the signal's reason, and errors of `content`.
   */
  async render(content: SourceFile['content'], page: PageRequest, signal: AbortSignal): Promise<PageImage> {
    const abort = AbortSignal.any([signal, this.#closed.signal]);
    const { remove, ...file } = await spool(content, this.#folder, abort);
    try {
      const reader = await this.#acquire(abort);
      try {
        return await reader.render({ content: file.content, bytes: file.bytes }, page, abort);
      } finally {
        this.#release(reader);
      }
    } finally {
      await remove();
    }
  }

  /** Opens a file and reads little of it. Resolves with the error with which `extract` would fail, or null. */
  async check(file: SourceFile, signal: AbortSignal): Promise<IngestionError | null> {
    for await (const extraction of this.extract(file, { chunkSizeTokens: 0, isCheck: true }, signal)) {
      if ('error' in extraction) return extraction.error;
    }
    return null;
  }

  async *#read(format: DocumentFormat, input: ReaderInput, signal: AbortSignal): AsyncGenerator<Extraction> {
    const reader = await this.#acquire(signal);
    try {
      yield* reader.read(format, input, signal);
    } finally {
      this.#release(reader);
    }
  }

  /** Ends all readers; extractions in progress throw. May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the extractor is closed'));
    for (const timer of this.#idleTimers.values()) clearTimeout(timer);
    await Promise.all(this.#readers.map((reader) => reader.stop()));
  }

  async #acquire(signal: AbortSignal): Promise<ReaderProcess> {
    signal.throwIfAborted();
    const isIdle = this.#free.length === this.#readers.length;
    const free = this.#free.findLast(({ isStarted }) => isStarted) ?? (isIdle ? this.#free.at(-1) : undefined);
    if (free !== undefined) return this.#take(free);
    if (this.#waiting.length >= MAX_WAITING) throw new Error(`more than ${MAX_WAITING} files wait for extraction`);
    const { promise, resolve, reject } = Promise.withResolvers<ReaderProcess>();
    this.#waiting.push(resolve);
    const stopWaiting = () => {
      const at = this.#waiting.indexOf(resolve);
      if (at !== -1) this.#waiting.splice(at, 1);
      return at !== -1;
    };
    const startAnother = setTimeout(() => {
      const unstarted = this.#free.at(-1);
      if (unstarted !== undefined && stopWaiting()) resolve(this.#take(unstarted));
    }, START_ANOTHER_MS);
    const onAbort = () => {
      stopWaiting();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(startAnother);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #take(reader: ReaderProcess): ReaderProcess {
    this.#free.splice(this.#free.indexOf(reader), 1);
    clearTimeout(this.#idleTimers.get(reader));
    return reader;
  }

  #release(reader: ReaderProcess): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(reader);
      return;
    }
    this.#free.push(reader);
    if (this.#closed.signal.aborted) return;
    this.#idleTimers.set(reader, setTimeout(() => reader.stop(), IDLE_MS).unref());
  }
}
