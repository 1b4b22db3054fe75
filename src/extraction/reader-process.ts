import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { rejectOnAbort } from '../lib/reject-on-abort.ts';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import { IngestionError } from './ingestion-error.ts';
import { killGroup } from './kill-group.ts';
import { READER_BUFFER_MB, READER_HEAP_MB, READER_YOUNG_HEAP_MB } from './limits.ts';
import type { PageImage, PageRequest } from './pdf/render-page.ts';
import type { PageInput, ReaderError, ReaderProgress, ReaderReply, ReaderRequest } from './reader-protocol.ts';

/** Time that a reader has to abandon a file before it is killed. */
const CLOSE_MS = 1_000;
/** Memory of an idle reader: Node and the parser libraries. */
const IDLE_MB = 150;
/** Characters of stderr that are kept to classify a crash: V8 prints its message before a stack trace. */
const MAX_STDERR_CHARACTERS = 8_000;

/** Limits for one document. */
export interface ReaderLimits {
  seconds: number;
  heapMb: number;
  /** Memory outside the JavaScript heap. */
  bufferMb: number;
  /** Entry point of the process; `reader.ts` unless a test replaces it. */
  module?: URL;
}

/** Default limits. */
export const READER_LIMITS: Omit<ReaderLimits, 'seconds'> = { heapMb: READER_HEAP_MB, bufferMb: READER_BUFFER_MB };

type ReadFailure = { type: 'failed'; error: ReaderError };

/**
 * A child process that reads one file at a time. A document that exceeds a limit or crashes the process fails alone;
 * the next one gets a new process. Not a thread: a large allocation that exceeds a thread's heap limit makes V8 abort
 * the whole process.
 */
export class ReaderProcess {
  readonly #limits: ReaderLimits;
  readonly #onCrash: (reason: string) => void;
  #child: ChildProcess | null = null;
  #pending: PromiseWithResolvers<ReaderReply | ReadFailure> | null = null;
  #onPage: NonNullable<ReaderInput['onPage']> = () => {};
  #timer: NodeJS.Timeout | null = null;

  /** `onCrash` is called with the reason whenever a document ends the process. */
  constructor(limits: ReaderLimits, onCrash: (reason: string) => void) {
    this.#limits = limits;
    this.#onCrash = onCrash;
  }

  /** Whether the process runs; if not, the next file starts it. */
  get isStarted(): boolean {
    return this.#child !== null;
  }

  /**
   * Yields the documents of a file. An error of the whole file comes last, with an empty part. Throws the signal's
   * reason. A caller may stop early; the process is then free for the next file.
   */
  async *read(
    format: DocumentFormat,
    { onPage = () => {}, ...input }: ReaderInput,
    signal: AbortSignal,
  ): AsyncGenerator<Extraction> {
    this.#onPage = onPage;
    let request: ReaderRequest = { type: 'open', format, input };
    let isFinished = false;
    try {
      for (;;) {
        const reply = await this.#send(request, signal);
        isFinished = reply.type !== 'part';
        if (reply.type === 'end' || reply.type === 'page') return;
        if (reply.type === 'failed') {
          yield { part: '', error: toIngestionError(reply.error) };
          return;
        }
        const { type, ...extraction } = reply;
        yield 'error' in extraction ? { ...extraction, error: toIngestionError(extraction.error) } : extraction;
        request = { type: 'next' };
      }
    } finally {
      if (this.#pending !== null) await this.stop();
      else if (this.#child !== null && !isFinished)
        await this.#send({ type: 'close' }, AbortSignal.timeout(CLOSE_MS)).catch(() => this.stop());
    }
  }

  /** Renders a page of a PDF or of an image. Throws an `IngestionError`, and the signal's reason. */
  async render(input: PageInput, page: PageRequest, signal: AbortSignal): Promise<PageImage> {
    try {
      const reply = await this.#send({ type: 'render', input, page }, signal);
      if (reply.type === 'page') return reply.image;
      if (reply.type === 'failed') throw toIngestionError(reply.error);
      throw new Error(`the reader process answered '${reply.type}' to 'render'`);
    } finally {
      if (this.#pending !== null) await this.stop();
    }
  }

  /** Kills the process; a document in progress fails. The next file starts a new process. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#detach(child, { code: 'server_error', message: 'Document extraction was stopped.', detail: 'stopped' });
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.ref();
    killChild(child);
    await exited;
  }

  async #send(request: ReaderRequest, signal: AbortSignal): Promise<ReaderReply | ReadFailure> {
    signal.throwIfAborted();
    const pending = Promise.withResolvers<ReaderReply | ReadFailure>();
    this.#pending = pending;
    const child = this.#start();
    child.ref();
    child.channel?.ref();
    // A failed send means that the process is exiting, which its `close` event reports.
    child.send(request, () => undefined);
    this.#timer = setTimeout(() => this.#killAfterTimeout(child), this.#limits.seconds * 1_000).unref();
    try {
      const reply = await rejectOnAbort(pending.promise, signal);
      this.#pending = null;
      return reply;
    } finally {
      clearTimeout(this.#timer);
      child.unref();
      child.channel?.unref();
    }
  }

  #killAfterTimeout(child: ChildProcess): void {
    const message = `Extraction took more than ${this.#limits.seconds} seconds.`;
    this.#reportCrash(child, { code: 'timeout', message, detail: 'extraction timed out' });
    killChild(child);
  }

  #reportCrash(child: ChildProcess, error: ReaderError): void {
    if (child !== this.#child) return;
    this.#detach(child, error);
    this.#onCrash(error.detail ?? error.message);
  }

  #start(): ChildProcess {
    if (this.#child !== null) return this.#child;
    const { heapMb, bufferMb, module = new URL('./reader.ts', import.meta.url) } = this.#limits;
    const child = fork(fileURLToPath(module), [String(heapMb + bufferMb + IDLE_MB)], {
      // Replaces the flags of this process, which may be for a test runner or a debugger.
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        `--max-old-space-size=${heapMb}`,
        `--max-semi-space-size=${READER_YOUNG_HEAP_MB}`,
      ],
      serialization: 'advanced',
      // Stdout is ignored: libraries print warnings that quote the document.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Own process group, so that Ctrl-C reaches only the service, which lets readers finish.
      detached: process.platform !== 'win32',
    });
    let stderr = '';
    if (child.stderr instanceof Socket) child.stderr.unref();
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    child.on('message', (reply: ReaderReply | ReaderProgress) => {
      if (child !== this.#child) return;
      if (reply.type !== 'progress') return this.#pending?.resolve(reply);
      this.#timer?.refresh();
      this.#onPage(reply.read, reply.pages);
    });
    child.on('error', (error) => this.#reportCrash(child, crashed(error.message)));
    // While a request is pending, wait for `close`: a reply may still be in the channel.
    child.on('exit', (code, signal) => {
      if (this.#pending === null) this.#reportCrash(child, exitError(code, signal, stderr));
    });
    child.on('close', (code, signal) => this.#reportCrash(child, exitError(code, signal, stderr)));
    this.#child = child;
    return child;
  }

  #detach(child: ChildProcess | null, error: ReaderError): void {
    if (child !== this.#child) return;
    this.#child = null;
    this.#pending?.resolve({ type: 'failed', error });
  }
}

function killChild({ pid }: ChildProcess): void {
  if (pid !== undefined) killGroup(pid);
}

function toIngestionError({ code, message, detail }: ReaderError): IngestionError {
  return new IngestionError(code, message, detail ?? undefined);
}

function outOfMemory(detail: string): ReaderError {
  return { code: 'too_large', message: 'The document needs more memory than its limit.', detail };
}

function crashed(detail: string): ReaderError {
  return { code: 'invalid_file', message: 'The file cannot be read: the extraction process crashed.', detail };
}

/** Classifies the end of a process. Of stderr only the error class is used, because messages may quote the document. */
function exitError(code: number | null, signal: NodeJS.Signals | null, stderr: string): ReaderError {
  if (/heap out of memory|Allocation failed/.test(stderr)) return outOfMemory('heap limit exceeded');
  // By its watchdog thread or by the kernel's OOM killer.
  if (signal === 'SIGKILL') return outOfMemory('memory limit exceeded');
  const errorClass = /^(?:Uncaught )?(\w*Error)\b/m.exec(stderr)?.[1];
  return crashed(`process exited with ${signal ?? code}${errorClass === undefined ? '' : ` (${errorClass})`}`);
}
