import type { Backend } from '../../engine.ts';
import type { Moderation, ModerationEngine } from '../../moderation-engine.ts';
import { SharedThread } from '../shared-thread.ts';
import { ModerationCall, type ModerationPortionResult } from './moderation-call.ts';

/** Concurrent calls. Each holds its texts in memory. */
const MAX_CALLS = 1024;
/** Characters of all concurrent calls: about ten seconds of work. A single call may have more. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** Timeout of a portion. A portion takes milliseconds, loading less than a second. */
const PORTION_TIMEOUT_MS = 20_000;

/** File and limits of the bundled moderation model. */
export interface BundledModerationOptions {
  /** The weights; the model card has the format. */
  file: string;
  /** Name of the model in `GET /v1/models`. */
  name: string;
  /** Concurrent calls; 1024 by default. */
  maxCalls?: number;
}

/**
 * Creates the engine of the bundled moderation model. It runs in one worker thread, which loads the model at the first
 * call or `check`. Calls share the thread: each gets a portion in turn, so that short texts do not wait for long ones.
 * Texts of more than 32,768 characters are classified in overlapping windows.
 */
export function createBundledModeration(options: BundledModerationOptions): ModerationEngine {
  return new BundledModeration(options);
}

class BundledModeration implements ModerationEngine {
  readonly #name: string;
  readonly #thread: SharedThread<string[], ModerationPortionResult, number>;

  constructor({ file, name, maxCalls = MAX_CALLS }: BundledModerationOptions) {
    this.#name = name;
    this.#thread = new SharedThread({
      name: 'moderation',
      script: new URL('./worker.ts', import.meta.url),
      data: () => ({ file }),
      timeoutMs: PORTION_TIMEOUT_MS,
      maxCalls,
      maxCharacters: MAX_CHARACTERS,
    });
  }

  backend(): Backend {
    const { loaded, isReady } = this.#thread;
    return { engine: 'bundled', model: this.#name, parameters: loaded, ready: isReady };
  }

  moderate(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<Moderation> {
    return this.#thread.run(new ModerationCall(texts), scope, signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
