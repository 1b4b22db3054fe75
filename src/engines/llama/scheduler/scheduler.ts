import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** Token budgets of one step. */
export interface StepLimits {
  /** Maximum tokens per step. Larger steps are not faster, and delay the next one for everybody. */
  maxBatchTokens: number;
  /** Maximum prefill tokens in a step with running completions: bounds how long those stall. */
  maxPrefillTokensPerStep: number;
}

/** Pending work of a slot. More than one token is a prompt or the rest of one. */
export interface SlotLoad {
  slot: number;
  tokens: number;
  priority: 'interactive' | 'batch';
  /** Steps since the slot last got tokens. */
  waitedSteps: number;
}

/** Tokens of a slot in the next step. */
export interface TokenShare {
  slot: number;
  tokens: number;
}

/**
 * Steps after which a batch prompt gets a tile even if interactive prompts would take the whole step (no starvation).
 */
const MAX_BATCH_WAIT_STEPS = 8;

/** A slot with a decoding constraint. */
export interface ConstrainedSlot {
  slot: number;
  /** Cost of its next sampling, in the unit of the budget. */
  cost: number;
  /** Steps since the slot last got tokens. */
  waitedSteps: number;
}

/**
 * Returns the slots to leave out of the next step, so that sampling under grammars costs at most `budget`: it runs on
 * the CPU while all others wait. Slots that waited longest go first; a single one may exceed the budget.
 */
export function overSamplingBudget(answers: readonly ConstrainedSlot[], budget: number): Set<number> {
  const order = answers.toSorted((a, b) => b.waitedSteps - a.waitedSteps || a.cost - b.cost || a.slot - b.slot);
  const left = new Set<number>();
  let spend = 0;
  for (const { slot, cost } of order) {
    if (spend > 0 && spend + cost > budget) left.add(slot);
    else spend += cost;
  }
  return left;
}

/**
 * Distributes the tokens of the next step. Running completions get one token each. Prompts share the rest, shortest
 * first with aging, interactive before batch. The result is in order of slot.
 */
export function planStep(loads: readonly SlotLoad[], limits: StepLimits): TokenShare[] {
  const shares = new Map<number, number>();
  let left = limits.maxBatchTokens;
  for (const { slot, tokens } of loads) {
    if (tokens !== 1 || left === 0) continue;
    shares.set(slot, 1);
    left -= 1;
  }
  // One more: llama.cpp computes the first token of every sequence in one pass, and whole tiles should remain of a
  // prompt.
  if (shares.size > 0) left = Math.min(left, limits.maxPrefillTokensPerStep + 1);
  let isFirst = true;
  for (const load of prefillOrder(loads)) {
    const part = Math.min(load.tokens, left, isOverdue(load) ? ATTENTION_TILE_TOKENS : left);
    // A part of a tile takes as long as a whole tile: the prompt waits for the next step.
    if (part === 0 || (part < Math.min(load.tokens, ATTENTION_TILE_TOKENS) && !isFirst)) continue;
    shares.set(load.slot, part);
    left -= part;
    isFirst = false;
  }
  return [...shares].map(([slot, tokens]) => ({ slot, tokens })).sort((a, b) => a.slot - b.slot);
}

const isOverdue = (load: SlotLoad): boolean => load.priority === 'batch' && load.waitedSteps >= MAX_BATCH_WAIT_STEPS;

/** Sorts prompts: shortest first. A prompt that got nothing counts as one tile shorter in the next step (aging). */
function prefillOrder(loads: readonly SlotLoad[]): SlotLoad[] {
  const rank = (load: SlotLoad): number => (isOverdue(load) ? 0 : load.priority === 'interactive' ? 1 : 2);
  const length = (load: SlotLoad): number => load.tokens - load.waitedSteps * ATTENTION_TILE_TOKENS;
  return loads
    .filter((load) => load.tokens > 1)
    .sort((a, b) => rank(a) - rank(b) || length(a) - length(b) || b.waitedSteps - a.waitedSteps || a.slot - b.slot);
}

/** A running job, as a candidate for preemption. */
export interface RunningJob {
  scope: string;
  priority: 'interactive' | 'batch';
  /** Its reader lags behind. */
  isPaused: boolean;
  /** Milliseconds since it got its slot. */
  ranMs: number;
  /** Milliseconds to compute its tokens again; null: it cannot be interrupted now. */
  resumeMs: number | null;
}

/**
 * Milliseconds that the only job of a scope runs before another scope takes its slot; at least so many times as long as
 * resuming it takes, which counts as running.
 */
const MIN_RUN_MS = 1_000;
const MIN_RUN_SHARE = 2;

/**
 * Selects the running job that gives its slot to a waiting one when no slot is free; null for none. A scope gives way
 * to one that has two jobs less, so that a single request never waits for the completions of a flood, and no two scopes
 * take slots from each other in turn. Where each scope has one job, those without any get a slot after `MIN_RUN_MS`
 * (time slicing).
 */
export function selectPreempted(waiting: readonly WaitingJob[], running: readonly RunningJob[]): number | null {
  const runs = countByScope(running);
  const interactive = waiting.filter(({ priority }) => priority === 'interactive');
  const fewest = Math.min(...interactive.map(({ scope }) => runs.get(scope) ?? 0));
  const mayGiveWay = ({ scope, isPaused, ranMs, resumeMs }: RunningJob): boolean => {
    const more = (runs.get(scope) ?? 0) - fewest;
    if (resumeMs === null || more < 1) return false;
    return more > 1 || (fewest === 0 && (isPaused || ranMs >= Math.max(MIN_RUN_MS, MIN_RUN_SHARE * resumeMs)));
  };
  const [first] = [...running.entries()]
    .filter(([, job]) => mayGiveWay(job))
    .sort(
      ([, a], [, b]) =>
        (runs.get(b.scope) ?? 0) - (runs.get(a.scope) ?? 0) ||
        Number(b.isPaused) - Number(a.isPaused) ||
        Number(b.priority === 'batch') - Number(a.priority === 'batch') ||
        (a.resumeMs ?? 0) - (b.resumeMs ?? 0),
    );
  return first?.[0] ?? null;
}

function countByScope(running: readonly { scope: string }[]): Map<string, number> {
  const runs = new Map<string, number>();
  for (const { scope } of running) runs.set(scope, (runs.get(scope) ?? 0) + 1);
  return runs;
}

/** A queued job. */
export interface WaitingJob {
  scope: string;
  priority: 'interactive' | 'batch';
  /** In milliseconds, of the same clock as `now`. */
  since: number;
}

/** Batch jobs that waited so long have the priority of interactive jobs (no starvation). */
const MAX_BATCH_WAIT_MS = 30_000;

/** What an admission depends on, besides the jobs. */
export interface AdmissionState {
  slots: number;
  /** In milliseconds, of the same clock as `since`. */
  now: number;
  /** Order of the last admission by scope, as an increasing number. A missing scope was admitted least recently. */
  admittedAt: ReadonlyMap<string, number>;
}

/**
 * Returns the order of admission as indices of `waiting`, which is in order of arrival: interactive before batch, then
 * the scope with the fewest running jobs, then the one whose last admission is longest ago (fairness among
 * organizations). Batch jobs leave one slot free, so that an interactive request never waits for a batch completion.
 */
export function admissionOrder(
  waiting: readonly WaitingJob[],
  running: readonly { scope: string; priority: 'interactive' | 'batch' }[],
  { slots, now, admittedAt }: AdmissionState,
): number[] {
  const ofScope = countByScope(running);
  const batchRuns = running.filter(({ priority }) => priority === 'batch').length;
  const batchMay = batchRuns < Math.max(1, slots - 1);
  const urgent = (job: WaitingJob): boolean => job.priority === 'interactive' || now - job.since > MAX_BATCH_WAIT_MS;
  return waiting
    .map((job, index) => ({ job, index, runs: ofScope.get(job.scope) ?? 0, turn: admittedAt.get(job.scope) ?? 0 }))
    .filter(({ job }) => job.priority === 'interactive' || batchMay)
    .sort(
      (a, b) =>
        Number(urgent(b.job)) - Number(urgent(a.job)) || a.runs - b.runs || a.turn - b.turn || a.index - b.index,
    )
    .map(({ index }) => index);
}
