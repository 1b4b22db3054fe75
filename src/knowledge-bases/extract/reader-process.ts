import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { IngestionError } from '../jobs/job-error.ts';
import { READER_BUFFER_MB, READER_HEAP_MB, READER_YOUNG_HEAP_MB } from './bounds.ts';
import type { Extraction, ReadJob } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import type { ReaderError, ReaderReply, ReaderRequest } from './reader-protocol.ts';

/** Milliseconds that a reader has to put away a file of which nobody wants more. */
const LEAVE_MS = 1_000;
/** Megabytes of a process that has read nothing yet: Node, and the libraries for documents. */
const EMPTY_MB = 150;
/** Characters of a reader's error output that are kept to tell what it died of: V8 ends with its message and a stack. */
const KEPT_ERROR_CHARACTERS = 8_000;

/** What a reader may use for one document. */
export interface ReaderBounds {
  seconds: number;
  heapMb: number;
  /** Beside the heap. */
  bufferMb: number;
  /** The reader's module, where it is not that of the formats. */
  module?: URL;
}

/** The bounds of documents in use. */
export const READER_BOUNDS: Omit<ReaderBounds, 'seconds'> = { heapMb: READER_HEAP_MB, bufferMb: READER_BUFFER_MB };

/** The end of a reader, seen from the document that it read. */
type Ended = { type: 'failed'; error: ReaderError };

/**
 * A process that reads one file at a time. One that takes too long, or too much memory, or dies, fails the document that it reads and no
 * other: the next one gets a fresh process. A thread would not do: V8 ends the whole process when a thread's heap is full in the middle of
 * one large allocation, whatever its limits are.
 */
export class ReaderProcess {
  readonly #bounds: ReaderBounds;
  readonly #onLost: (reason: string) => void;
  #child: ChildProcess | null = null;
  #asked: PromiseWithResolvers<ReaderReply | Ended> | null = null;

  /** `onLost` is told why, each time that a document took the process with it. */
  constructor(bounds: ReaderBounds, onLost: (reason: string) => void) {
    this.#bounds = bounds;
    this.#onLost = onLost;
  }

  /** Whether there is a process; otherwise the next file starts one. */
  get isStarted(): boolean {
    return this.#child !== null;
  }

  /**
   * The documents of a file. An error of all of it comes as the last one, with an empty part. Throws the signal's reason when it aborts.
   * Whoever stops early leaves the process free for the next file.
   */
  async *read(format: DocumentFormat, job: ReadJob, signal: AbortSignal): AsyncGenerator<Extraction> {
    let request: ReaderRequest = { type: 'begin', format, job };
    let isOver = false;
    try {
      for (;;) {
        const reply = await this.#ask(request, signal);
        isOver = reply.type !== 'part';
        if (reply.type === 'end') return;
        if (reply.type === 'failed') {
          yield { part: '', error: errorOf(reply.error) };
          return;
        }
        const { type, ...part } = reply;
        yield 'error' in part ? { ...part, error: errorOf(part.error) } : part;
        request = { type: 'next' };
      }
    } finally {
      if (this.#asked !== null) await this.stop();
      else if (this.#child !== null && !isOver)
        await this.#ask({ type: 'leave' }, AbortSignal.timeout(LEAVE_MS)).catch(() => this.stop());
    }
  }

  /** Ends the process; the next file starts another. A document that is being read fails. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#ended(child, { code: 'server_error', message: 'The reading of documents was stopped.', detail: 'stopped' });
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.ref();
    child.kill('SIGKILL');
    await exited;
  }

  async #ask(request: ReaderRequest, signal: AbortSignal): Promise<ReaderReply | Ended> {
    signal.throwIfAborted();
    const asked = Promise.withResolvers<ReaderReply | Ended>();
    this.#asked = asked;
    const child = this.#started();
    const done = new AbortController();
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    child.ref();
    child.channel?.ref();
    // One that fails means that the process is ending; its end is what is told.
    child.send(request, () => undefined);
    void this.#endWhenLate(child, done.signal);
    try {
      const reply = await Promise.race([asked.promise, left.promise]);
      this.#asked = null;
      return reply;
    } finally {
      done.abort();
      signal.removeEventListener('abort', leave);
      child.unref();
      child.channel?.unref();
    }
  }

  async #endWhenLate(child: ChildProcess, done: AbortSignal): Promise<void> {
    const { seconds } = this.#bounds;
    await wait(seconds * 1000, undefined, { signal: done, ref: false }).catch(() => {});
    if (done.aborted) return;
    this.#lose(child, slow(seconds));
    child.kill('SIGKILL');
  }

  #lose(child: ChildProcess, error: ReaderError): void {
    if (child !== this.#child) return;
    this.#ended(child, error);
    this.#onLost(error.detail ?? error.message);
  }

  #started(): ChildProcess {
    if (this.#child !== null) return this.#child;
    const { heapMb, bufferMb, module = new URL('./reader.ts', import.meta.url) } = this.#bounds;
    const child = fork(fileURLToPath(module), [String(heapMb + bufferMb + EMPTY_MB)], {
      // None of the service's own flags: they may be for a test runner or a debugger.
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        `--max-old-space-size=${heapMb}`,
        `--max-semi-space-size=${READER_YOUNG_HEAP_MB}`,
      ],
      serialization: 'advanced',
      // Libraries warn there about what a document has; nothing of it is meant for the log.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Ctrl-C in a terminal is for the service, which then lets its readers finish.
      detached: process.platform !== 'win32',
    });
    let errorOutput = '';
    if (child.stderr instanceof Socket) child.stderr.unref();
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-KEPT_ERROR_CHARACTERS);
    });
    child.on('message', (reply: ReaderReply) => {
      if (child === this.#child) this.#asked?.resolve(reply);
    });
    child.on('error', (error) => this.#lose(child, broken(error.message)));
    // While it reads not at `exit`: what it wrote before may still be on its way.
    child.on('exit', (code, signal) => {
      if (this.#asked === null) this.#lose(child, deathOf(code, signal, errorOutput));
    });
    child.on('close', (code, signal) => this.#lose(child, deathOf(code, signal, errorOutput)));
    this.#child = child;
    return child;
  }

  #ended(child: ChildProcess | null, error: ReaderError): void {
    if (child !== this.#child) return;
    this.#child = null;
    this.#asked?.resolve({ type: 'failed', error });
  }
}

function errorOf({ code, message, detail }: ReaderError): IngestionError {
  return new IngestionError(code, message, detail ?? undefined);
}

function slow(seconds: number): ReaderError {
  return {
    code: 'timeout',
    message: `The document took more than ${seconds} seconds to read.`,
    detail: 'took too long',
  };
}

function heavy(detail: string): ReaderError {
  return { code: 'too_large', message: 'The document needs more memory than it may have.', detail };
}

function broken(detail: string): ReaderError {
  return { code: 'invalid_file', message: 'The file cannot be read: its reader broke on it.', detail };
}

/** Only what kind of error it was is told of the output: messages may quote the document. */
function deathOf(code: number | null, signal: NodeJS.Signals | null, errorOutput: string): ReaderError {
  if (/heap out of memory|Allocation failed/.test(errorOutput)) return heavy('its heap outgrew its bound');
  // By its own watch, or by a system that had no memory left.
  if (signal === 'SIGKILL') return heavy('its memory outgrew its bound');
  const kind = /^(?:Uncaught )?(\w*Error)\b/m.exec(errorOutput)?.[1];
  return broken(`the process ended with ${signal ?? code}${kind === undefined ? '' : ` (${kind})`}`);
}
