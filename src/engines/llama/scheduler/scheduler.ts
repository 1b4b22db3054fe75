import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** How large steps are. All in tokens. */
export interface StepLimits {
  /** Of one step at most. Larger steps compute no faster, and make everyone wait longer for the next. */
  stepTokens: number;
  /** Of prompts in a step that also carries running answers: bounds how long those stall. */
  besideAnswers: number;
}

/** What a sequence has to compute. More than one token is a prompt, or the rest of one. */
export interface SequenceLoad {
  sequence: number;
  tokens: number;
  priority: 'interactive' | 'batch';
  /** Steps since it last got anything. */
  waited: number;
}

/** How many of its tokens a sequence gets in the next step. */
export interface SequenceShare {
  sequence: number;
  tokens: number;
}

/** Steps after which batch work gets a tile although interactive prompts would take all: it never stands still. */
const BATCH_TURN_STEPS = 8;

/** An answer that a grammar holds. */
export interface ConstrainedAnswer {
  sequence: number;
  /** What its next sampling costs, in the unit of the budget. */
  cost: number;
  /** Steps since it last got anything. */
  waited: number;
}

/**
 * The answers that are left out of the next step, so that sampling costs no more than `budget` in it: a grammar is
 * followed on the processor while all others wait. They take turns, those that waited longest first; one alone may cost
 * more than the budget.
 */
export function overSamplingBudget(answers: readonly ConstrainedAnswer[], budget: number): Set<number> {
  const order = answers.toSorted((a, b) => b.waited - a.waited || a.cost - b.cost || a.sequence - b.sequence);
  const left = new Set<number>();
  let spent = 0;
  for (const { sequence, cost } of order) {
    if (spent > 0 && spent + cost > budget) left.add(sequence);
    else spent += cost;
  }
  return left;
}

/**
 * Who gets how many tokens in the next step. Running answers get their one token each; prompts get what is left, the
 * shorter first but each after a while, interactive before batch. In order of sequence.
 */
export function planStep(loads: readonly SequenceLoad[], limits: StepLimits): SequenceShare[] {
  const shares = new Map<number, number>();
  let left = limits.stepTokens;
  for (const { sequence, tokens } of loads) {
    if (tokens !== 1 || left === 0) continue;
    shares.set(sequence, 1);
    left -= 1;
  }
  // One more: llama.cpp takes the first token of every sequence into one pass, and whole tiles are to remain of a prompt.
  if (shares.size > 0) left = Math.min(left, limits.besideAnswers + 1);
  let nobodyYet = true;
  for (const load of inOrder(loads)) {
    const part = Math.min(load.tokens, left, isOverdue(load) ? ATTENTION_TILE_TOKENS : left);
    // Less than a tile of a long prompt would take as long as a whole one: rather in the next step.
    if (part === 0 || (part < Math.min(load.tokens, ATTENTION_TILE_TOKENS) && !nobodyYet)) continue;
    shares.set(load.sequence, part);
    left -= part;
    nobodyYet = false;
  }
  return [...shares].map(([sequence, tokens]) => ({ sequence, tokens })).sort((a, b) => a.sequence - b.sequence);
}

const isOverdue = (load: SequenceLoad): boolean => load.priority === 'batch' && load.waited >= BATCH_TURN_STEPS;

/**
 * Prompts in the order in which they are served. The shortest is not kept by a long one; who got nothing counts as a
 * tile shorter in the next step, so that everyone's turn comes.
 */
function inOrder(loads: readonly SequenceLoad[]): SequenceLoad[] {
  const rank = (load: SequenceLoad): number => (isOverdue(load) ? 0 : load.priority === 'interactive' ? 1 : 2);
  const length = (load: SequenceLoad): number => load.tokens - load.waited * ATTENTION_TILE_TOKENS;
  return loads
    .filter((load) => load.tokens > 1)
    .sort((a, b) => rank(a) - rank(b) || length(a) - length(b) || b.waited - a.waited || a.sequence - b.sequence);
}

/** A job that waits for a sequence. */
export interface WaitingJob {
  scope: string;
  priority: 'interactive' | 'batch';
  /** Milliseconds, of the same clock as `now`. */
  since: number;
}

/** Batch work that has waited so long takes its turn as interactive work does: under steady load it gets on, too. */
const BATCH_PATIENCE_MS = 30_000;

/**
 * The order in which waiting jobs are let in, as indices of `waiting`, which is in order of arrival: interactive before
 * batch; within that, who has least running first, so that a scope with many requests does not keep the others out.
 * Batch work leaves the last of several sequences free, so that an interactive request never waits for a batch answer.
 */
export function admissionOrder(
  waiting: readonly WaitingJob[],
  running: readonly { scope: string; priority: 'interactive' | 'batch' }[],
  sequences: number,
  now: number,
): number[] {
  const ofScope = new Map<string, number>();
  for (const { scope } of running) ofScope.set(scope, (ofScope.get(scope) ?? 0) + 1);
  const batchRuns = running.filter(({ priority }) => priority === 'batch').length;
  const batchMay = batchRuns < Math.max(1, sequences - 1);
  const urgent = (job: WaitingJob): boolean => job.priority === 'interactive' || now - job.since > BATCH_PATIENCE_MS;
  return waiting
    .map((job, index) => ({ job, index, runs: ofScope.get(job.scope) ?? 0 }))
    .filter(({ job }) => job.priority === 'interactive' || batchMay)
    .sort((a, b) => Number(urgent(b.job)) - Number(urgent(a.job)) || a.runs - b.runs || a.index - b.index)
    .map(({ index }) => index);
}
