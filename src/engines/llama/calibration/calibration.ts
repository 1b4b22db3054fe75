import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** Measured duration of one step: the minimum of several runs, because other load only adds. */
export interface StepTime {
  threads: number;
  /** Slots in the step. */
  slots: number;
  /** Tokens in the step. Equal to `slots`: a decode step; more: a prefill step. */
  tokens: number;
  milliseconds: number;
}

/** How a model runs on this machine. */
export interface Calibration {
  threads: number;
  /** Concurrent completions. */
  slots: number;
  /** Maximum tokens per step. Larger steps hardly speed up prefill. */
  maxBatchTokens: number;
  /** Maximum prefill tokens in a step with running completions. */
  maxPrefillTokensPerStep: number;
  /** Prefill speed without running completions. Null: not measured. */
  prefillTokensPerSecond: number | null;
}

/** Values that measurements do not change. */
export interface CalibrationLimits {
  /** Configured threads; null: not configured. */
  threads: number | null;
  /** Configured slots, or what fits into memory; null: as many as are useful. */
  slots: number | null;
}

/** Maximum number of slots, and the default without measurements. */
export const MAX_SLOTS = 16;
const DEFAULT_SLOTS = 4;
/** On small virtual machines, waking a second thread costs more than it computes. */
const DEFAULT_THREADS = 1;
/** Maximum tokens per step, and the default without measurements. */
export const MAX_STEP_TOKENS = 512;
const MIN_STEP_TOKENS = 32;
const DEFAULT_PREFILL_TOKENS_PER_STEP = 128;
const MIN_PREFILL_TOKENS_PER_STEP = 8;
/** Factor by which one tile of a prompt may delay running completions: smaller parts take far longer in total. */
const MAX_TILE_DELAY_FACTOR = 3;
/** Minimum speedup for more threads, which are taken from other programs. */
const MIN_THREADS_SPEEDUP = 1.05;
/** Minimum speedup in total tokens per second for twice the slots: each completion becomes slower. */
const MIN_SLOTS_SPEEDUP = 1.1;
/** A step is large enough at this fraction of the best prefill speed. */
const MIN_PREFILL_SPEED_FRACTION = 0.95;
/** Allowed fraction of the best decode speed for more slots, as long as a step stays below `MAX_DECODE_STEP_MS`. */
const MIN_DECODE_SPEED_FRACTION = 0.9;
/** Minimum duration of a step: shorter steps are not reduced further. */
const SHORT_STEP_MS = 30;
/** Maximum time between two tokens: ten tokens per second is faster than people read. */
const MAX_DECODE_STEP_MS = 100;
/** Factor by which prefill may extend decode steps that are slower than that. */
const MAX_DECODE_SLOWDOWN = 1.5;
/** Maximum duration of a prefill step, for which new and cancelled requests wait. */
const MAX_PREFILL_STEP_MS = 500;

/** Chooses the parameters for the measured times. Pure. Missing measurements are replaced by defaults. */
export function calibrate(times: readonly StepTime[], limits: CalibrationLimits): Calibration {
  const threads = limits.threads ?? fastestThreads(times) ?? DEFAULT_THREADS;
  const own = times.filter((time) => time.threads === threads);
  const decodeSteps = own.filter((time) => time.tokens === time.slots).sort((a, b) => a.tokens - b.tokens);
  const prefillSteps = own.filter((time) => time.tokens > time.slots).sort((a, b) => a.tokens - b.tokens);
  const slots = limits.slots ?? usefulSlots(decodeSteps);
  const maxBatchTokens = Math.max(chooseStepTokens(prefillSteps), slots);
  const speed = prefillSteps.findLast((time) => time.tokens <= maxBatchTokens) ?? prefillSteps[0];
  return {
    threads,
    slots,
    maxBatchTokens,
    maxPrefillTokensPerStep: Math.min(maxBatchTokens, prefillTokensPerStep(decodeSteps, prefillSteps, slots)),
    prefillTokensPerSecond: speed === undefined ? null : Math.round(rate(speed) * 1_000),
  };
}

/** Tokens per millisecond. */
function rate(time: StepTime): number {
  return time.tokens / time.milliseconds;
}

/**
 * Returns the thread count with the best mean speed over the kinds of steps that were measured with every count; the
 * smaller of two that are nearly equal. Null without measurements.
 */
export function fastestThreads(times: readonly StepTime[]): number | null {
  const formatStep = ({ slots, tokens }: StepTime): string => `${slots}/${tokens}`;
  const counts = [...new Set(times.map(({ threads }) => threads))].sort((a, b) => a - b);
  const kinds = [...new Set(times.map(formatStep))].filter((kind) =>
    counts.every((threads) => times.some((time) => time.threads === threads && formatStep(time) === kind)),
  );
  // Geometric mean: no kind of step weighs more because it takes longer.
  const scores = counts.map((threads) => {
    const own = times.filter((time) => time.threads === threads && kinds.includes(formatStep(time)));
    const sum = own.reduce((total, { milliseconds }) => total + Math.log(milliseconds), 0);
    return { threads, score: sum / Math.max(1, own.length) };
  });
  const best = Math.min(...scores.map(({ score }) => score));
  return scores.find(({ score }) => score <= best + Math.log(MIN_THREADS_SPEEDUP))?.threads ?? null;
}

/** `decodeSteps`: in ascending order of slots. */
function usefulSlots(decodeSteps: readonly StepTime[]): number {
  const [first, ...more] = decodeSteps;
  if (first === undefined || more.length === 0) return DEFAULT_SLOTS;
  let best = first;
  for (const time of more) {
    const gains = rate(time) >= rate(best) * MIN_SLOTS_SPEEDUP;
    if (gains || (rate(time) >= rate(best) * MIN_DECODE_SPEED_FRACTION && time.milliseconds <= MAX_DECODE_STEP_MS))
      best = time;
  }
  // Several slots even where they are not faster: a short completion should not wait for the end of a long one.
  return Math.min(MAX_SLOTS, Math.max(DEFAULT_SLOTS, best.slots));
}

/** `prefillSteps`: in ascending order of tokens. */
function chooseStepTokens(prefillSteps: readonly StepTime[]): number {
  if (prefillSteps.length === 0) return MAX_STEP_TOKENS;
  const best = Math.max(...prefillSteps.map(rate));
  const enough =
    prefillSteps.find((time) => rate(time) >= best * MIN_PREFILL_SPEED_FRACTION)?.tokens ?? MAX_STEP_TOKENS;
  const short = prefillSteps.findLast((time) => time.milliseconds <= SHORT_STEP_MS)?.tokens ?? 0;
  const bearable = prefillSteps.findLast((time) => time.milliseconds <= MAX_PREFILL_STEP_MS)?.tokens ?? MIN_STEP_TOKENS;
  const least = bearable >= ATTENTION_TILE_TOKENS ? ATTENTION_TILE_TOKENS : MIN_STEP_TOKENS;
  return Math.min(MAX_STEP_TOKENS, Math.max(least, short, Math.min(enough, bearable)));
}

/** Returns the prefill tokens that fit into a step in which all slots decode. */
function prefillTokensPerStep(
  decodeSteps: readonly StepTime[],
  prefillSteps: readonly StepTime[],
  slots: number,
): number {
  const alone = decodeSteps.findLast((time) => time.slots <= slots) ?? decodeSteps[0];
  if (alone === undefined || prefillSteps.length === 0) return DEFAULT_PREFILL_TOKENS_PER_STEP;
  const decodeMs = alone.milliseconds;
  // The fixed cost of a step is part of both times, but occurs once in a combined step.
  const fixedMs = decodeSteps.find((time) => time.slots === 1)?.milliseconds ?? 0;
  const prefillBudgetMs = Math.max(MAX_DECODE_STEP_MS, decodeMs * MAX_DECODE_SLOWDOWN) - decodeMs + fixedMs;
  const tokens = tokensWithinTime(prefillSteps, prefillBudgetMs);
  if (tokens >= ATTENTION_TILE_TOKENS) return Math.floor(tokens / ATTENTION_TILE_TOKENS) * ATTENTION_TILE_TOKENS;
  if (tokensWithinTime(prefillSteps, prefillBudgetMs * MAX_TILE_DELAY_FACTOR) >= ATTENTION_TILE_TOKENS)
    return ATTENTION_TILE_TOKENS;
  return Math.max(MIN_PREFILL_TOKENS_PER_STEP, Math.floor(tokens / 8) * 8);
}

/** Returns the prefill tokens that are computed within a time, by linear interpolation. */
function tokensWithinTime(prefillSteps: readonly StepTime[], milliseconds: number): number {
  let below = { tokens: 0, milliseconds: 0 };
  for (const time of prefillSteps) {
    if (time.milliseconds > milliseconds) {
      const part = (milliseconds - below.milliseconds) / (time.milliseconds - below.milliseconds);
      return below.tokens + Math.max(0, part) * (time.tokens - below.tokens);
    }
    below = time;
  }
  return below.tokens;
}
