import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** How large steps are. All in tokens. */
export interface StepLimits {
  /** Of one step at most. Larger steps compute no faster, and make everyone wait longer for the next. */
  maxBatchTokens: number;
  /** Of prompts in a step that also carries running answers: bounds how long those stall. */
  maxPrefillTokensPerStep: number;
}

/** What a sequence has to compute. More than one token is a prompt, or the rest of one. */
export interface SlotLoad {
  slot: number;
  tokens: number;
  priority: 'interactive' | 'batch';
  /** Steps since it last got anything. */
  waitedSteps: number;
}

/** How many of its tokens a sequence gets in the next step. */
export interface TokenShare {
  slot: number;
  tokens: number;
}

/** Steps after which batch work gets a tile although interactive prompts would take all: it never stands still. */
const MAX_BATCH_WAIT_STEPS = 8;

/** An answer that a grammar holds. */
export interface ConstrainedSlot {
  slot: number;
  /** What its next sampling costs, in the unit of the budget. */
  cost: number;
  /** Steps since it last got anything. */
  waitedSteps: number;
}

/**
 * The answers that are left out of the next step, so that sampling costs no more than `budget` in it: a grammar is
 * followed on the processor while all others wait. They take turns, those that waited longest first; one alone may cost
 * more than the budget.
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
 * Who gets how many tokens in the next step. Running answers get their one token each; prompts get what is left, the
 * shorter first but each after a while, interactive before batch. In order of sequence.
 */
export function planStep(loads: readonly SlotLoad[], limits: StepLimits): TokenShare[] {
  const shares = new Map<number, number>();
  let left = limits.maxBatchTokens;
  for (const { slot, tokens } of loads) {
    if (tokens !== 1 || left === 0) continue;
    shares.set(slot, 1);
    left -= 1;
  }
  // One more: llama.cpp takes the first token of every sequence into one pass, and whole tiles are to remain of a prompt.
  if (shares.size > 0) left = Math.min(left, limits.maxPrefillTokensPerStep + 1);
  let nobodyYet = true;
  for (const load of prefillOrder(loads)) {
    const part = Math.min(load.tokens, left, isOverdue(load) ? ATTENTION_TILE_TOKENS : left);
    // Less than a tile of a long prompt would take as long as a whole one: rather in the next step.
    if (part === 0 || (part < Math.min(load.tokens, ATTENTION_TILE_TOKENS) && !nobodyYet)) continue;
    shares.set(load.slot, part);
    left -= part;
    nobodyYet = false;
  }
  return [...shares].map(([slot, tokens]) => ({ slot, tokens })).sort((a, b) => a.slot - b.slot);
}

const isOverdue = (load: SlotLoad): boolean => load.priority === 'batch' && load.waitedSteps >= MAX_BATCH_WAIT_STEPS;

/**
 * Prompts in the order in which they are served. The shortest is not kept by a long one; who got nothing counts as a
 * tile shorter in the next step, so that everyone's turn comes.
 */
function prefillOrder(loads: readonly SlotLoad[]): SlotLoad[] {
  const rank = (load: SlotLoad): number => (isOverdue(load) ? 0 : load.priority === 'interactive' ? 1 : 2);
  const length = (load: SlotLoad): number => load.tokens - load.waitedSteps * ATTENTION_TILE_TOKENS;
  return loads
    .filter((load) => load.tokens > 1)
    .sort((a, b) => rank(a) - rank(b) || length(a) - length(b) || b.waitedSteps - a.waitedSteps || a.slot - b.slot);
}

/** A job that waits for a sequence. */
export interface WaitingJob {
  scope: string;
  priority: 'interactive' | 'batch';
  /** Milliseconds, of the same clock as `now`. */
  since: number;
}

/** Batch work that has waited so long takes its turn as interactive work does: under steady load it gets on, too. */
const MAX_BATCH_WAIT_MS = 30_000;

/**
 * The order in which waiting jobs are let in, as indices of `waiting`, which is in order of arrival: interactive before
 * batch; within that, who has least running first, so that a scope with many requests does not keep the others out.
 * Batch work leaves the last of several sequences free, so that an interactive request never waits for a batch answer.
 */
export function admissionOrder(
  waiting: readonly WaitingJob[],
  running: readonly { scope: string; priority: 'interactive' | 'batch' }[],
  slots: number,
  now: number,
): number[] {
  const ofScope = new Map<string, number>();
  for (const { scope } of running) ofScope.set(scope, (ofScope.get(scope) ?? 0) + 1);
  const batchRuns = running.filter(({ priority }) => priority === 'batch').length;
  const batchMay = batchRuns < Math.max(1, slots - 1);
  const urgent = (job: WaitingJob): boolean => job.priority === 'interactive' || now - job.since > MAX_BATCH_WAIT_MS;
  return waiting
    .map((job, index) => ({ job, index, runs: ofScope.get(job.scope) ?? 0 }))
    .filter(({ job }) => job.priority === 'interactive' || batchMay)
    .sort((a, b) => Number(urgent(b.job)) - Number(urgent(a.job)) || a.runs - b.runs || a.index - b.index)
    .map(({ index }) => index);
}
