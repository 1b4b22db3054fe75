import { isDeepStrictEqual } from 'node:util';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { truncateGraphemes } from '../../lib/truncate.ts';
import type { OcrProgress } from '../jobs/schema.ts';

/** Minimum time between two writes. */
const WRITE_INTERVAL_MS = 1000;
const MAX_NAME_CHARACTERS = 200;

/** How the progress of a job is stored. */
export interface OcrProgressPolicy {
  /** Replaces the stored progress of the job. */
  write(documents: OcrProgress[]): Promise<void>;
  /** Called with the error of a write. The next change of the progress writes again. */
  onFailure(error: unknown): void;
  /** Default: 1000. */
  intervalMs?: number;
}

/** Reports the pages of one file. */
export interface FileProgress {
  /** Number of pages that OCR has read. */
  onPage(read: number, pages: number): void;
  /** The file is read, or its reading has failed. Later pages are ignored. */
  end(): void;
}

/** Stores how many pages OCR has read of each file that a run reads, at most once a second. */
export class OcrProgressWriter {
  readonly #files = new Map<FileProgress, OcrProgress>();
  readonly #writes: GroupCommit<null>;
  /** The stored progress: the start of a run clears it. */
  #written: OcrProgress[] = [];

  constructor({ write, onFailure, intervalMs = WRITE_INTERVAL_MS }: OcrProgressPolicy) {
    this.#writes = new GroupCommit<null>({
      write: async () => {
        const current = [...this.#files.values()];
        if (isDeepStrictEqual(current, this.#written)) return;
        await write(current);
        this.#written = current;
      },
      onFailure: (_, error) => onFailure(error),
      maxWeight: Number.POSITIVE_INFINITY,
      delayMs: intervalMs,
      stopsOnFailure: false,
    });
  }

  /** Starts the progress of a file, which is shown while OCR has pages of it to read. */
  begin(name: string): FileProgress {
    // PostgreSQL accepts neither NUL nor lone surrogates in JSON, and names come from remote services.
    const document = truncateGraphemes(collapseWhitespace(name), MAX_NAME_CHARACTERS);
    let isEnded = false;
    const file: FileProgress = {
      onPage: (page, pages) => {
        if (isEnded) return;
        if (page < pages) this.#files.set(file, { document, page, pages });
        else this.#files.delete(file);
        void this.#writes.add(null);
      },
      end: () => {
        isEnded = true;
        this.#files.delete(file);
        void this.#writes.add(null);
      },
    };
    return file;
  }

  /** Writes the last state without further delay. Does not throw. */
  async flush(): Promise<void> {
    void this.#writes.add(null);
    await this.#writes.flush();
  }
}
