import type { Sampled } from '../runtime/bindings.ts';

/** One completion as the decode loop sees it. */
export interface DecodeJob {
  /** The organization, for fairness. */
  readonly scope: string;
  /** Only jobs of one cache scope share cached prefixes. */
  readonly cacheScope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  /** False: the whole prompt is computed, and each of its tokens but the first is passed to `scorePromptToken`. */
  readonly reusesPrefix: boolean;
  /** The job has a slot and allocates its sampler. */
  begin(): void;
  /** Records the log probability of the next prompt token, at an index of the step just computed. */
  scorePromptToken(index: number, token: number): Promise<void>;
  /** Samples a token at an index of the step just computed. */
  sample(index: number): Promise<Sampled>;
  /** Cost of the next sampling in the unit of `MAX_SAMPLING_COST`; 0 without a grammar. */
  samplingCost(): number;
  /** True while the reader of the job lags behind: the job is left out of the next steps (backpressure). */
  isPaused(): boolean;
  /** The prompt is computed. `cachedTokens` of it were cached. Called once, before the first `accept`. */
  promptEnded(cachedTokens: number): void;
  /** Whether the job may want another token after this one, as known before `accept`. */
  continuesAfter(token: number): boolean;
  /** Takes a token. Returns whether the job wants another one; never true where `continuesAfter` was false. */
  accept(sampled: Sampled): boolean;
  /** The job ends with an error. */
  failed(error: unknown): void;
}
