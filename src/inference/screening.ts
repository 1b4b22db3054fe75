import type { Deps } from '../deps.ts';
import type { ModerationNotice, ScreenSubject } from '../lib/screen.ts';

/** Input that policies have allowed. The class is not exported, so only this module makes one. */
class ScreenedInput<T> {
  readonly #value: T;
  /** Result of screening the input, for the response; null without a flag. */
  readonly notice: ModerationNotice | null;

  constructor(value: T, notice: ModerationNotice | null) {
    this.#value = value;
    this.notice = notice;
  }

  get value(): T {
    return this.#value;
  }

  /**
   * Returns the input with context that policies do not apply to, such as retrieved documents. `add` must not add text
   * of the caller.
   */
  withContext(add: (value: T) => T): ScreenedInput<T> {
    return new ScreenedInput(add(this.#value), this.notice);
  }
}

/** Input that policies have allowed: all that `inference/` accepts. Made by `screenInput` and `exemptInput` only. */
export type Screened<T> = ScreenedInput<T>;

/**
 * Screens the input of a call. `texts`: those texts of it that policies apply to (user messages, prompts, texts to
 * embed, the query of a rerank). Throws 400 `content_filtered` when a policy blocks one.
 */
export async function screenInput<T>(
  deps: Pick<Deps, 'screen'>,
  subject: ScreenSubject,
  input: T,
  texts: readonly string[],
): Promise<Screened<T>> {
  // Some moderation servers reject a blank text, and no policy flags one.
  const written = texts.filter((text) => /\S/.test(text));
  const notice = written.length === 0 ? null : await deps.screen.input(subject, written);
  return new ScreenedInput(input, notice);
}

/**
 * Passes input that no policy applies to: documents during ingestion, queries of `/retrieve`, and the sentences that
 * grounding ranks. Input of inference routes goes through `screenInput`.
 */
export function exemptInput<T>(input: T): Screened<T> {
  return new ScreenedInput(input, null);
}
