import { buffer } from 'node:stream/consumers';
import type { Deps } from '../deps.ts';
import { readContent } from '../files/read-content.ts';
import type { FileRow } from '../files/store.ts';
import type { LineBody } from './endpoints.ts';
import type { PendingLine } from './line-store.ts';

/** Bytes of lines that one read fetches: with S3, a request costs as much time as some hundred kilobytes. */
const MAX_WINDOW_BYTES = 512 * 1024;
/** Bytes between two lines that are fetched in vain rather than with another read. */
const MAX_GAP_BYTES = 64 * 1024;

/** A range of the input file with lines that run one after the other. */
interface Window {
  start: number;
  /** Exclusive. */
  end: number;
  /** Lines that are not read yet. */
  unread: number;
  content: Promise<Buffer> | null;
}

/**
 * Reads the lines of a batch from its input file. Lines that run one after the other and are near each other in the
 * file are fetched together. Holds a range of the file from its first line to its last one.
 */
export class LineReader {
  readonly #deps: Pick<Deps, 'blobs'>;
  readonly #file: FileRow;
  readonly #windows: Map<number, Window>;

  /** `lines`: the lines to run, in the order in which they run. */
  constructor(deps: Pick<Deps, 'blobs'>, file: FileRow, lines: readonly PendingLine[]) {
    this.#deps = deps;
    this.#file = file;
    this.#windows = planWindows(lines);
  }

  /** Reads the body of a validated line. A line that is read again, for a retry, is fetched alone. */
  async read({ line, start, bytes }: PendingLine, signal: AbortSignal): Promise<LineBody> {
    const window = this.#windows.get(line);
    this.#windows.delete(line);
    const content =
      window === undefined
        ? await this.#fetch(start, start + bytes, signal)
        : (await this.#fetchWindow(window, signal)).subarray(start - window.start, start - window.start + bytes);
    const { body } = JSON.parse(content.toString('utf8')) as { body: LineBody };
    return body;
  }

  #fetchWindow(window: Window, signal: AbortSignal): Promise<Buffer> {
    window.content ??= this.#fetch(window.start, window.end, signal);
    const { content } = window;
    window.unread -= 1;
    if (window.unread === 0) window.content = null;
    return content;
  }

  async #fetch(start: number, end: number, signal: AbortSignal): Promise<Buffer> {
    return buffer(await readContent(this.#deps, this.#file, { start, end: end - 1 }, signal));
  }
}

/** Returns the window of each line. A line that is longer than a window has its own. */
function planWindows(lines: readonly PendingLine[]): Map<number, Window> {
  const windows = new Map<number, Window>();
  let window: Window | null = null;
  for (const { line, start, bytes } of lines) {
    const end = start + bytes;
    const isNear = window !== null && start >= window.end && start - window.end <= MAX_GAP_BYTES;
    if (window === null || !isNear || end - window.start > MAX_WINDOW_BYTES) {
      window = { start, end, unread: 0, content: null };
    }
    window.end = end;
    window.unread += 1;
    windows.set(line, window);
  }
  return windows;
}
