/** Delay after the first crash. */
const MIN_DELAY_MS = 250;
/** Maximum delay, so that a crash loop does not keep the machine busy. */
const MAX_DELAY_MS = 30_000;

/** Returns the delay in milliseconds before a crashed process is restarted (exponential backoff). */
export function restartDelayMs(earlierCrashes: number): number {
  return Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** earlierCrashes);
}
