import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { IngestionError } from '../job-error.ts';
import { THREAD_BUFFER_BYTES, THREAD_HEAP_MB, THREAD_YOUNG_HEAP_MB } from './bounds.ts';
import type { Extraction, ReadJob } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import type { ThreadError, ThreadReply, ThreadRequest } from './thread.ts';

/** Milliseconds between two looks at the memory of a thread that works. */
const WATCH_MS = 250;

/** What a thread may use for one document. */
export interface ThreadBounds {
  seconds: number;
  heapMb: number;
  bufferBytes: number;
  /** The thread's code, where it is not the readers of the formats. */
  script?: URL;
}

/** The bounds of documents in use. */
export const THREAD_BOUNDS: Omit<ThreadBounds, 'seconds'> = {
  heapMb: THREAD_HEAP_MB,
  bufferBytes: THREAD_BUFFER_BYTES,
};

/** The end of a thread, seen from the document that it read. */
type Ended = { type: 'failed'; error: ThreadError };

/**
 * A thread that reads one file at a time. One that takes too long, or too much memory, or dies, fails the document that it reads and no
 * other: the next one gets a fresh thread.
 */
export class ExtractionThread {
  readonly #bounds: ThreadBounds;
  readonly #onLost: (reason: string) => void;
  #worker: Worker | null = null;
  #asked: PromiseWithResolvers<ThreadReply | Ended> | null = null;

  /** `onLost` is told why, each time that a document took the thread with it. */
  constructor(bounds: ThreadBounds, onLost: (reason: string) => void) {
    this.#bounds = bounds;
    this.#onLost = onLost;
  }

  /**
   * The documents of a file. An error of all of it comes as the last one, with an empty part. Throws the signal's reason when it aborts.
   * Whoever stops early leaves the thread free for the next file.
   */
  async *read(format: DocumentFormat, job: ReadJob, signal: AbortSignal): AsyncGenerator<Extraction> {
    let request: ThreadRequest = { type: 'begin', format, job };
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
      else if (this.#worker !== null && !isOver)
        await this.#ask({ type: 'leave' }, AbortSignal.timeout(WATCH_MS * 4)).catch(() => this.stop());
    }
  }

  /** Ends the thread; the next file starts another. A document that is being read fails. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#ended(worker, { code: 'server_error', message: 'The reading of documents was stopped.', detail: 'stopped' });
    await worker?.terminate();
  }

  async #ask(request: ThreadRequest, signal: AbortSignal): Promise<ThreadReply | Ended> {
    signal.throwIfAborted();
    const asked = Promise.withResolvers<ThreadReply | Ended>();
    this.#asked = asked;
    const worker = this.#started();
    const done = new AbortController();
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    worker.ref();
    worker.postMessage(request);
    void this.#watch(worker, done.signal);
    try {
      const reply = await Promise.race([asked.promise, left.promise]);
      this.#asked = null;
      return reply;
    } finally {
      done.abort();
      signal.removeEventListener('abort', leave);
      worker.unref();
    }
  }

  /** Ends the thread when it needs more than it may have. */
  async #watch(worker: Worker, done: AbortSignal): Promise<void> {
    const until = performance.now() + this.#bounds.seconds * 1000;
    while (!done.aborted && worker === this.#worker) {
      await wait(WATCH_MS, undefined, { signal: done, ref: false }).catch(() => {});
      if (done.aborted) return;
      if (performance.now() > until) this.#giveUp(worker, slow(this.#bounds.seconds));
      // A thread that has ended has no statistics.
      const statistics = await worker.getHeapStatistics().catch(() => null);
      if (!done.aborted && (statistics?.external_memory ?? 0) > this.#bounds.bufferBytes) {
        this.#giveUp(worker, heavy('its buffers outgrew their bound'));
      }
    }
  }

  #giveUp(worker: Worker, error: ThreadError): void {
    this.#lose(worker, error);
    void worker.terminate();
  }

  #lose(worker: Worker, error: ThreadError): void {
    if (worker !== this.#worker) return;
    this.#ended(worker, error);
    this.#onLost(error.detail ?? error.message);
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#bounds.script ?? new URL('./thread.ts', import.meta.url), {
      name: 'extraction',
      resourceLimits: { maxOldGenerationSizeMb: this.#bounds.heapMb, maxYoungGenerationSizeMb: THREAD_YOUNG_HEAP_MB },
      // Libraries warn on these about what a document has; nothing of it is meant for the log.
      stdout: true,
      stderr: true,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', (reply: ThreadReply) => {
      if (worker === this.#worker) this.#asked?.resolve(reply);
    });
    worker.on('error', (error) => this.#lose(worker, deathOf(error)));
    worker.on('exit', (code) => this.#lose(worker, deathOf(new Error(`the thread ended with ${code}`))));
    this.#worker = worker;
    return worker;
  }

  #ended(worker: Worker | null, error: ThreadError): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    this.#asked?.resolve({ type: 'failed', error });
  }
}

function errorOf({ code, message, detail }: ThreadError): IngestionError {
  return new IngestionError(code, message, detail ?? undefined);
}

function slow(seconds: number): ThreadError {
  return {
    code: 'timeout',
    message: `The document took more than ${seconds} seconds to read.`,
    detail: 'took too long',
  };
}

function heavy(detail: string): ThreadError {
  return { code: 'too_large', message: 'The document needs more memory than it may have.', detail };
}

function deathOf(error: Error & { code?: string }): ThreadError {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return heavy(error.message);
  return { code: 'invalid_file', message: 'The file cannot be read: its reader broke on it.', detail: error.message };
}
