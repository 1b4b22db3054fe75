/** Weight of the newest measurement. */
const WEIGHT = 0.2;

/** Exponential moving average: `before` updated by the newest value. */
export const movingAverage = (before: number, newest: number): number => before + WEIGHT * (newest - before);
