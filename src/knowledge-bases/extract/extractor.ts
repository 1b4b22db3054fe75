import { tmpdir } from 'node:os';
import { IngestionError } from '../jobs/job-error.ts';
import { DOCUMENT_SECONDS } from './bounds.ts';
import type { Extraction, ReadJob } from './extracted-document.ts';
import { charsetOf, type DocumentFormat, documentFormat } from './formats.ts';
import { READER_BOUNDS, type ReaderBounds, ReaderProcess } from './reader-process.ts';
import { spool } from './spool.ts';

/** Processes, each started when it is needed: a file of millions of lines does not hold up all others. */
const READERS = 2;
/** Files that wait for a reader. Each waits in a job of its own, and there are fewer of those. */
const MAX_WAITING = 256;
/** Characters in a token, on the average of many languages' texts in the Latin script. */
const CHARACTERS_PER_TOKEN = 4;
/**
 * Milliseconds that a file waits for a reader that others use before one more is started. Usual files take a tenth of that, and so one
 * process reads them all; each has 60 to 110 MB of its own, and is started in half of it.
 */
const START_ANOTHER_MS = 500;
/** Milliseconds that a reader stays without work before it gives its memory back. */
const IDLE_MS = 30_000;

/** A file as it comes from a source. */
export interface SourceFile {
  name: string;
  /** As the source names it, with the encoding where it says one; null where it does not know. */
  mediaType: string | null;
  content: AsyncIterable<Uint8Array>;
}

/** How an extractor runs. */
export interface ExtractorOptions {
  /** Files that are read at the same time, each in a process. */
  readers?: number;
  /** Where files of more than a megabyte lie while they are read; the system's folder for temporary files unless it is given. */
  folder?: string;
  /** What each document may use. */
  bounds?: Partial<ReaderBounds>;
  /** Told why, each time that a document took its reader with it and the next one gets a fresh one. */
  onLostReader?: (reason: string) => void;
}

/** Reads documents in processes of their own. Lives as long as the process that ingests. */
export class Extractor {
  readonly #folder: string;
  readonly #readers: ReaderProcess[];
  readonly #free: ReaderProcess[];
  readonly #idle = new Map<ReaderProcess, NodeJS.Timeout>();
  readonly #waiting: ((reader: ReaderProcess) => void)[] = [];
  readonly #closed = new AbortController();

  constructor({ readers = READERS, folder = tmpdir(), bounds = {}, onLostReader = () => {} }: ExtractorOptions = {}) {
    this.#folder = folder;
    const all = { ...READER_BOUNDS, seconds: DOCUMENT_SECONDS, ...bounds };
    this.#readers = Array.from({ length: readers }, () => new ReaderProcess(all, onLostReader));
    this.#free = [...this.#readers];
  }

  /**
   * The documents of a file, one after the other, as the caller asks for them: one for most formats, one a line for JSONL, several for a
   * large table. What is wrong with the file comes as an error with an empty part, after those that could be read: `unsupported_file`,
   * `invalid_file`, `encrypted_file`, `no_text`, `timeout`, `too_large`. It would end so again, so there is no use in trying it again.
   * A file has its reader until all of it is read or the caller leaves: whoever reads one file must not wait for another meanwhile.
   * Throws the signal's reason, what the source throws, and when the extractor is closed.
   */
  async *extract(
    { name, mediaType, content }: SourceFile,
    { chunkSizeTokens }: { chunkSizeTokens: number },
    signal: AbortSignal,
  ): AsyncGenerator<Extraction> {
    const format = documentFormat(name, mediaType);
    if (format === null) {
      const message =
        'Documents of this format cannot be read: it must be PDF, DOCX, HTML, Markdown, CSV, JSONL or plain text.';
      yield { part: '', error: new IngestionError('unsupported_file', message) };
      return;
    }
    const either = AbortSignal.any([signal, this.#closed.signal]);
    try {
      const { bytes, remove, ...spooled } = await spool(content, this.#folder, either);
      try {
        const chunkCharacters = chunkSizeTokens * CHARACTERS_PER_TOKEN;
        yield* this.#read(format, { ...spooled, bytes, charset: charsetOf(mediaType), chunkCharacters }, either);
      } finally {
        await remove();
      }
    } catch (error) {
      if (!(error instanceof IngestionError) || error.code !== 'too_large') throw error;
      yield { part: '', error };
    }
  }

  async *#read(format: DocumentFormat, job: ReadJob, signal: AbortSignal): AsyncGenerator<Extraction> {
    const reader = await this.#take(signal);
    try {
      yield* reader.read(format, job, signal);
    } finally {
      this.#give(reader);
    }
  }

  /** Ends the readers; what is being read throws. May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the extractor is closed'));
    for (const timer of this.#idle.values()) clearTimeout(timer);
    await Promise.all(this.#readers.map((reader) => reader.stop()));
  }

  async #take(signal: AbortSignal): Promise<ReaderProcess> {
    signal.throwIfAborted();
    const free = this.#free.findLast(({ isStarted }) => isStarted) ?? (this.#isAtRest ? this.#free.at(-1) : undefined);
    if (free !== undefined) return this.#use(free);
    if (this.#waiting.length >= MAX_WAITING) throw new Error(`more than ${MAX_WAITING} files wait to be read`);
    const { promise, resolve, reject } = Promise.withResolvers<ReaderProcess>();
    this.#waiting.push(resolve);
    const stopWaiting = () => {
      const at = this.#waiting.indexOf(resolve);
      if (at !== -1) this.#waiting.splice(at, 1);
      return at !== -1;
    };
    const another = setTimeout(() => {
      const unstarted = this.#free.at(-1);
      if (unstarted !== undefined && stopWaiting()) resolve(this.#use(unstarted));
    }, START_ANOTHER_MS);
    const leave = () => {
      stopWaiting();
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(another);
      signal.removeEventListener('abort', leave);
    }
  }

  /** Whether nothing is read. */
  get #isAtRest(): boolean {
    return this.#free.length === this.#readers.length;
  }

  #use(reader: ReaderProcess): ReaderProcess {
    this.#free.splice(this.#free.indexOf(reader), 1);
    clearTimeout(this.#idle.get(reader));
    return reader;
  }

  #give(reader: ReaderProcess): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(reader);
      return;
    }
    this.#free.push(reader);
    if (this.#closed.signal.aborted) return;
    this.#idle.set(reader, setTimeout(() => reader.stop(), IDLE_MS).unref());
  }
}
