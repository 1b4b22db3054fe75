import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** How long one step took that was computed to find out; the shortest of several runs, for other work only adds. */
export interface StepTime {
  threads: number;
  /** Sequences in the step. */
  slots: number;
  /** Tokens in the step. As many as sequences: a step of running answers; more: one of prompts. */
  tokens: number;
  milliseconds: number;
}

/** How a model is run on this machine. */
export interface Calibration {
  threads: number;
  /** Answers computed at once. */
  slots: number;
  /** Tokens of one step at most: larger steps compute prompts hardly faster. */
  maxBatchTokens: number;
  /** Tokens of prompts in a step that also carries running answers. */
  maxPrefillTokensPerStep: number;
  /** Of prompts alone. Null: not measured. */
  prefillTokensPerSecond: number | null;
}

/** What is settled whatever was measured. */
export interface CalibrationLimits {
  /** The operator's wish; null: none. */
  threads: number | null;
  /** The operator's wish, or what the memory has room for; null: as many as are worthwhile. */
  slots: number | null;
}

/** Answers at once at most, and where nothing was measured. */
export const MAX_SLOTS = 16;
const DEFAULT_SLOTS = 4;
/** One thread beats two on small virtual machines, where waking the second one costs more than it computes. */
const DEFAULT_THREADS = 1;
/** Tokens of one step where nothing was measured, and at most. */
export const MAX_STEP_TOKENS = 512;
const MIN_STEP_TOKENS = 32;
const DEFAULT_PREFILL_TOKENS_PER_STEP = 128;
const MIN_PREFILL_TOKENS_PER_STEP = 8;
/** A tile of a prompt beside answers may make them wait so many times longer: in smaller parts it takes far longer. */
const MAX_TILE_DELAY_FACTOR = 3;
/** More threads must be this much faster to be worth the cores that they take from everything else. */
const MIN_THREADS_SPEEDUP = 1.05;
/** Twice the sequences must give this much more tokens a second together: each answer gets slower by them. */
const MIN_SLOTS_SPEEDUP = 1.1;
/** A step is large enough where it computes prompts at this part of the best speed seen. */
const MIN_PREFILL_SPEED_FRACTION = 0.95;
/** More sequences may cost this much of the best speed where answers stay fluent: nobody notices but who need not wait. */
const MIN_DECODE_SPEED_FRACTION = 0.9;
/** A step that short is no reason to make it shorter. */
const SHORT_STEP_MS = 30;
/** What an answer may wait for its next token: ten tokens a second are more than people read. */
const MAX_DECODE_STEP_MS = 100;
/** Where the answers alone take longer than that, prompts may add this much to it. */
const MAX_DECODE_SLOWDOWN = 1.5;
/** A step of prompts alone: who arrives, and who leaves, waits for its end. */
const MAX_PREFILL_STEP_MS = 500;

/** How to run a model that was timed so. Pure. Anything may be missing from `times`; defaults then hold. */
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

/** Tokens a millisecond. */
function rate(time: StepTime): number {
  return time.tokens / time.milliseconds;
}

/**
 * The number of threads that is fastest over the kinds of steps that were timed with each number; of two that are
 * nearly as fast, the smaller. Null when nothing was timed.
 */
export function fastestThreads(times: readonly StepTime[]): number | null {
  const kindOf = ({ slots, tokens }: StepTime): string => `${slots}/${tokens}`;
  const counts = [...new Set(times.map(({ threads }) => threads))].sort((a, b) => a - b);
  const kinds = [...new Set(times.map(kindOf))].filter((kind) =>
    counts.every((threads) => times.some((time) => time.threads === threads && kindOf(time) === kind)),
  );
  // The mean of logarithms, so that no kind of step counts more because it takes longer.
  const scores = counts.map((threads) => {
    const own = times.filter((time) => time.threads === threads && kinds.includes(kindOf(time)));
    const sum = own.reduce((total, { milliseconds }) => total + Math.log(milliseconds), 0);
    return { threads, score: sum / Math.max(1, own.length) };
  });
  const best = Math.min(...scores.map(({ score }) => score));
  return scores.find(({ score }) => score <= best + Math.log(MIN_THREADS_SPEEDUP))?.threads ?? null;
}

/** `answers`: steps of running answers, by ascending number. */
function usefulSlots(decodeSteps: readonly StepTime[]): number {
  const [first, ...more] = decodeSteps;
  if (first === undefined || more.length === 0) return DEFAULT_SLOTS;
  let best = first;
  for (const time of more) {
    const gains = rate(time) >= rate(best) * MIN_SLOTS_SPEEDUP;
    if (gains || (rate(time) >= rate(best) * MIN_DECODE_SPEED_FRACTION && time.milliseconds <= MAX_DECODE_STEP_MS))
      best = time;
  }
  // Some at once even where it makes nothing faster: a short answer is not to wait for the end of a long one.
  return Math.min(MAX_SLOTS, Math.max(DEFAULT_SLOTS, best.slots));
}

/** `prompts`: steps of prompts, by ascending number of tokens. */
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

/** The prompt's tokens that a step has time for when answers of all sequences are in it too. */
function prefillTokensPerStep(
  decodeSteps: readonly StepTime[],
  prefillSteps: readonly StepTime[],
  slots: number,
): number {
  const alone = decodeSteps.findLast((time) => time.slots <= slots) ?? decodeSteps[0];
  if (alone === undefined || prefillSteps.length === 0) return DEFAULT_PREFILL_TOKENS_PER_STEP;
  const decodeMs = alone.milliseconds;
  // What any step costs, however few its tokens, is in both times but only once in a step of both.
  const fixedMs = decodeSteps.find((time) => time.slots === 1)?.milliseconds ?? 0;
  const prefillBudgetMs = Math.max(MAX_DECODE_STEP_MS, decodeMs * MAX_DECODE_SLOWDOWN) - decodeMs + fixedMs;
  const tokens = tokensWithinTime(prefillSteps, prefillBudgetMs);
  if (tokens >= ATTENTION_TILE_TOKENS) return Math.floor(tokens / ATTENTION_TILE_TOKENS) * ATTENTION_TILE_TOKENS;
  if (tokensWithinTime(prefillSteps, prefillBudgetMs * MAX_TILE_DELAY_FACTOR) >= ATTENTION_TILE_TOKENS)
    return ATTENTION_TILE_TOKENS;
  return Math.max(MIN_PREFILL_TOKENS_PER_STEP, Math.floor(tokens / 8) * 8);
}

/** How many tokens of prompts are computed in a time, between the points that were measured along straight lines. */
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
