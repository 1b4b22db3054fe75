/** Longest period of a repetition, in tokens. */
export const MAX_PERIOD_TOKENS = 64;
/** Shortest repetition, in tokens. Identifiers, rules of tables and the like are shorter. */
export const MIN_REPETITION_TOKENS = 64;
/** Shortest repetition, in periods. */
const MIN_REPETITION_PERIODS = 4;

/** Detects a completion that repeats the same tokens without end, as small models do. */
export class RepetitionDetector {
  readonly #tokens: number[] = [];
  /** By period: how many of the latest tokens equal the token one period earlier. */
  readonly #matches: number[] = Array.from({ length: MAX_PERIOD_TOKENS + 1 }, () => 0);

  /** Adds a token. Returns whether the latest tokens are a repetition. */
  push(token: number): boolean {
    this.#tokens.push(token);
    let isRepetition = false;
    for (let period = 1; period <= MAX_PERIOD_TOKENS; period++) {
      const matches = this.#tokens.at(-1 - period) === token ? (this.#matches[period] ?? 0) + 1 : 0;
      this.#matches[period] = matches;
      isRepetition ||= matches + period >= Math.max(MIN_REPETITION_TOKENS, MIN_REPETITION_PERIODS * period);
    }
    if (this.#tokens.length > MAX_PERIOD_TOKENS) this.#tokens.shift();
    return isRepetition;
  }
}
