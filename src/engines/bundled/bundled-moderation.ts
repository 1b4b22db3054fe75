import { MODERATION_WORKER, ModerationCall, type ModerationPortionResult } from '@quire/bundled-models';
import type { Backend } from '../engine.ts';
import {
  MODERATION_CATEGORIES,
  type Moderation,
  type ModerationEngine,
  type ModerationScores,
  mapCategories,
} from '../moderation-engine.ts';
import { SharedThread } from './shared-thread.ts';

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
      script: MODERATION_WORKER,
      data: () => ({ file, categories: MODERATION_CATEGORIES }),
      timeoutMs: PORTION_TIMEOUT_MS,
      maxCalls,
      maxCharacters: MAX_CHARACTERS,
    });
  }

  backend(): Backend {
    const { loaded, isReady } = this.#thread;
    return { engine: 'bundled', model: this.#name, parameters: loaded, ready: isReady };
  }

  async moderate(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<Moderation> {
    const result = await this.#thread.run(new ModerationCall(texts), scope, signal);
    return { ...result, scores: result.scores.map(nameScores) };
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

/** Names scores that are in the order of `MODERATION_CATEGORIES`. */
const nameScores = (scores: readonly number[]): ModerationScores => mapCategories((_, i) => scores[i] ?? 0);
