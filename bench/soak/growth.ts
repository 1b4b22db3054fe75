import { mean } from '../harness/statistics.ts';

/** A linear fit of measurements over time, with the uncertainty of its slope. */
export interface Growth {
  /** Bytes per second, by least squares. */
  slope: number;
  /** 95 % confidence interval of the slope. */
  lower: number;
  upper: number;
}

/** One reading: seconds since the start, and bytes. */
export interface MemorySample {
  seconds: number;
  bytes: number;
}

/** Enough points for a fit, few enough that garbage collections average out within each. */
const BLOCKS = 12;
/** Student's t, two-sided 95 %, for BLOCKS - 2 degrees of freedom. */
const T_95 = 2.228;

/**
 * Fits the slope of memory over time. Consecutive readings are correlated (a garbage collection period covers dozens of
 * them), so the fit uses the means of a few long blocks; otherwise the interval would be far too narrow. Undefined with
 * too few readings.
 */
export function fitGrowth(readings: MemorySample[]): Growth | undefined {
  if (readings.length < BLOCKS) return undefined;
  const points = Array.from({ length: BLOCKS }, (_, block) => {
    const from = Math.floor((block * readings.length) / BLOCKS);
    const to = Math.floor(((block + 1) * readings.length) / BLOCKS);
    const part = readings.slice(from, to);
    return { x: mean(part.map((reading) => reading.seconds)), y: mean(part.map((reading) => reading.bytes)) };
  });
  const meanX = mean(points.map((point) => point.x));
  const meanY = mean(points.map((point) => point.y));
  const spread = sum(points.map((point) => (point.x - meanX) ** 2));
  const slope = sum(points.map((point) => (point.x - meanX) * (point.y - meanY))) / spread;
  const residual = sum(points.map((point) => (point.y - meanY - slope * (point.x - meanX)) ** 2));
  const halfWidth = T_95 * Math.sqrt(residual / (BLOCKS - 2) / spread);
  return { slope, lower: slope - halfWidth, upper: slope + halfWidth };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
