import type { Backend } from '../../engine.ts';
import type { Moderation, ModerationEngine } from '../../moderation-engine.ts';
import { SharedThread } from '../shared-thread.ts';
import { type Judged, Judging } from './judging.ts';
import type { LoadedModerator } from './thread.ts';

/** Calls at once; each holds its texts in memory. */
const MAX_CALLS = 1024;
/** Characters of calls at once: about ten seconds of work. One call alone may have more. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** A portion takes milliseconds, and loading less than a second: a thread that needs longer hangs. */
const PORTION_LIMIT_MS = 20_000;

/** A moderation model in a file of weights; see its card for the format. */
export interface BundledModerationOptions {
  file: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Calls at once; 1024 unless given. */
  maxCalls?: number;
}

/**
 * Judges texts with the model that comes with Quire, in a thread of its own: `moderate` costs this thread next to
 * nothing. Calls take turns, piece by piece, so that a short text does not wait for the end of a long one.
 * A text of more than 32,768 characters is read in overlapping pieces. Nothing is loaded before the first call or `check`.
 */
export function createBundledModeration(options: BundledModerationOptions): ModerationEngine {
  return new BundledModeration(options);
}

class BundledModeration implements ModerationEngine {
  readonly #name: string;
  readonly #thread: SharedThread<string[], Judged, LoadedModerator>;

  constructor({ file, name, maxCalls = MAX_CALLS }: BundledModerationOptions) {
    this.#name = name;
    this.#thread = new SharedThread({
      name: 'moderation',
      script: new URL('./thread.ts', import.meta.url),
      data: () => ({ file }),
      limitMs: PORTION_LIMIT_MS,
      maxCalls,
      maxCharacters: MAX_CHARACTERS,
    });
  }

  backend(): Backend {
    const { loaded, isReady } = this.#thread;
    return { engine: 'bundled', model: this.#name, parameters: loaded?.parameters ?? null, ready: isReady };
  }

  moderate(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<Moderation> {
    return this.#thread.run(new Judging(texts), scope, signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
