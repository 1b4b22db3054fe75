import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** How long one step took that was computed to find out; the shortest of several runs, for other work only adds. */
export interface StepTime {
  threads: number;
  /** Sequences in the step. */
  sequences: number;
  /** Tokens in the step. As many as sequences: a step of running answers; more: one of prompts. */
  tokens: number;
  milliseconds: number;
}

/** How a model is run on this machine. */
export interface Calibration {
  threads: number;
  /** Answers computed at once. */
  sequences: number;
  /** Tokens of one step at most: larger steps compute prompts hardly faster. */
  stepTokens: number;
  /** Tokens of prompts in a step that also carries running answers. */
  prefillBesideAnswers: number;
  /** Of prompts alone. Null: not measured. */
  prefillTokensPerSecond: number | null;
}

/** What is settled whatever was measured. */
export interface CalibrationLimits {
  /** The operator's wish; null: none. */
  threads: number | null;
  /** The operator's wish, or what the memory has room for; null: as many as are worthwhile. */
  sequences: number | null;
}

/** Answers at once at most, and where nothing was measured. */
export const MOST_SEQUENCES = 16;
const DEFAULT_SEQUENCES = 4;
/** One thread beats two on small virtual machines, where waking the second one costs more than it computes. */
const DEFAULT_THREADS = 1;
/** Tokens of one step where nothing was measured, and at most. */
export const MOST_STEP_TOKENS = 512;
const LEAST_STEP_TOKENS = 32;
const DEFAULT_BESIDE_ANSWERS = 128;
const LEAST_BESIDE_ANSWERS = 8;
/** A tile of a prompt beside answers may make them wait so many times longer: in smaller parts it takes far longer. */
const WAIT_FOR_TILE = 3;
/** More threads must be this much faster to be worth the cores that they take from everything else. */
const THREADS_GAIN = 1.05;
/** Twice the sequences must give this much more tokens a second together: each answer gets slower by them. */
const SEQUENCES_GAIN = 1.1;
/** A step is large enough where it computes prompts at this part of the best speed seen. */
const NEARLY_BEST = 0.95;
/** More sequences may cost this much of the best speed where answers stay fluent: nobody notices but who need not wait. */
const STILL_GOOD = 0.9;
/** A step that short is no reason to make it shorter. */
const SHORT_STEP_MS = 30;
/** What an answer may wait for its next token: ten tokens a second are more than people read. */
const FLUENT_STEP_MS = 100;
/** Where the answers alone take longer than that, prompts may add this much to it. */
const SLOWED_BY = 1.5;
/** A step of prompts alone: who arrives, and who leaves, waits for its end. */
const STEP_ALONE_MS = 500;

/** How to run a model that was timed so. Pure. Anything may be missing from `times`; defaults then hold. */
export function calibrate(times: readonly StepTime[], limits: CalibrationLimits): Calibration {
  const threads = limits.threads ?? fastestThreads(times) ?? DEFAULT_THREADS;
  const own = times.filter((time) => time.threads === threads);
  const answers = own.filter((time) => time.tokens === time.sequences).sort((a, b) => a.tokens - b.tokens);
  const prompts = own.filter((time) => time.tokens > time.sequences).sort((a, b) => a.tokens - b.tokens);
  const sequences = limits.sequences ?? worthwhileSequences(answers);
  const stepTokens = Math.max(stepTokensOf(prompts), sequences);
  const speed = prompts.findLast((time) => time.tokens <= stepTokens) ?? prompts[0];
  return {
    threads,
    sequences,
    stepTokens,
    prefillBesideAnswers: Math.min(stepTokens, besideAnswers(answers, prompts, sequences)),
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
  const kindOf = ({ sequences, tokens }: StepTime): string => `${sequences}/${tokens}`;
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
  return scores.find(({ score }) => score <= best + Math.log(THREADS_GAIN))?.threads ?? null;
}

/** `answers`: steps of running answers, by ascending number. */
function worthwhileSequences(answers: readonly StepTime[]): number {
  const [first, ...more] = answers;
  if (first === undefined || more.length === 0) return DEFAULT_SEQUENCES;
  let best = first;
  for (const time of more) {
    const gains = rate(time) >= rate(best) * SEQUENCES_GAIN;
    if (gains || (rate(time) >= rate(best) * STILL_GOOD && time.milliseconds <= FLUENT_STEP_MS)) best = time;
  }
  // Some at once even where it makes nothing faster: a short answer is not to wait for the end of a long one.
  return Math.min(MOST_SEQUENCES, Math.max(DEFAULT_SEQUENCES, best.sequences));
}

/** `prompts`: steps of prompts, by ascending number of tokens. */
function stepTokensOf(prompts: readonly StepTime[]): number {
  if (prompts.length === 0) return MOST_STEP_TOKENS;
  const best = Math.max(...prompts.map(rate));
  const enough = prompts.find((time) => rate(time) >= best * NEARLY_BEST)?.tokens ?? MOST_STEP_TOKENS;
  const short = prompts.findLast((time) => time.milliseconds <= SHORT_STEP_MS)?.tokens ?? 0;
  const bearable = prompts.findLast((time) => time.milliseconds <= STEP_ALONE_MS)?.tokens ?? LEAST_STEP_TOKENS;
  const least = bearable >= ATTENTION_TILE_TOKENS ? ATTENTION_TILE_TOKENS : LEAST_STEP_TOKENS;
  return Math.min(MOST_STEP_TOKENS, Math.max(least, short, Math.min(enough, bearable)));
}

/** The prompt's tokens that a step has time for when answers of all sequences are in it too. */
function besideAnswers(answers: readonly StepTime[], prompts: readonly StepTime[], sequences: number): number {
  const alone = answers.findLast((time) => time.sequences <= sequences) ?? answers[0];
  if (alone === undefined || prompts.length === 0) return DEFAULT_BESIDE_ANSWERS;
  const answersMs = alone.milliseconds;
  // What any step costs, however few its tokens, is in both times but only once in a step of both.
  const onceMs = answers.find((time) => time.sequences === 1)?.milliseconds ?? 0;
  const promptMs = Math.max(FLUENT_STEP_MS, answersMs * SLOWED_BY) - answersMs + onceMs;
  const tokens = tokensWithin(prompts, promptMs);
  if (tokens >= ATTENTION_TILE_TOKENS) return Math.floor(tokens / ATTENTION_TILE_TOKENS) * ATTENTION_TILE_TOKENS;
  if (tokensWithin(prompts, promptMs * WAIT_FOR_TILE) >= ATTENTION_TILE_TOKENS) return ATTENTION_TILE_TOKENS;
  return Math.max(LEAST_BESIDE_ANSWERS, Math.floor(tokens / 8) * 8);
}

/** How many tokens of prompts are computed in a time, between the points that were measured along straight lines. */
function tokensWithin(prompts: readonly StepTime[], milliseconds: number): number {
  let below = { tokens: 0, milliseconds: 0 };
  for (const time of prompts) {
    if (time.milliseconds > milliseconds) {
      const part = (milliseconds - below.milliseconds) / (time.milliseconds - below.milliseconds);
      return below.tokens + Math.max(0, part) * (time.tokens - below.tokens);
    }
    below = time;
  }
  return below.tokens;
}
