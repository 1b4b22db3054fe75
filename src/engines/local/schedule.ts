/**
 * Tokens of a prompt that are best computed together: below, llama.cpp's attention goes token by token over all that
 * came before (`GGML_FA_TILE_Q`), which at 2,000 tokens of context takes three times as long for each.
 */
export const TILE_TOKENS = 64;

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

/** The part of a step's prompt tokens that batch work gets while interactive prompts would take all: one in so many. */
const BATCH_PART = 8;

/**
 * Who gets how many tokens in the next step. Running answers get their one token each; prompts share what is left,
 * the shorter first but each after a while, interactive before batch, which still gets a small part so that it never
 * stands still. In order of sequence.
 */
export function planStep(loads: readonly SequenceLoad[], limits: StepLimits): SequenceShare[] {
  const shares = new Map<number, number>();
  let left = limits.stepTokens;
  for (const { sequence, tokens } of loads) {
    if (tokens !== 1 || left === 0) continue;
    shares.set(sequence, 1);
    left -= 1;
  }
  if (shares.size > 0) left = Math.min(left, limits.besideAnswers);
  const prompts = loads.filter((load) => load.tokens > 1);
  const interactive = prompts.filter((load) => load.priority === 'interactive');
  const batch = prompts.filter((load) => load.priority === 'batch');
  const kept = batch.length === 0 || interactive.length === 0 ? 0 : Math.ceil(left / BATCH_PART);
  const rest = shareOut(interactive, left - kept, shares);
  shareOut(batch, rest + kept, shares);
  return [...shares].map(([sequence, tokens]) => ({ sequence, tokens })).sort((a, b) => a.sequence - b.sequence);
}

/**
 * The shortest first, so that it is not kept by a long one, each an equal part of what is left in whole tiles. Who got
 * nothing counts as a tile shorter in the next step, so that everyone's turn comes. Returns what is left after all.
 */
function shareOut(prompts: readonly SequenceLoad[], tokens: number, shares: Map<number, number>): number {
  let left = tokens;
  const length = (load: SequenceLoad): number => load.tokens - load.waited * TILE_TOKENS;
  const ascending = prompts.toSorted((a, b) => length(a) - length(b) || b.waited - a.waited || a.sequence - b.sequence);
  ascending.forEach((load, index) => {
    const tiles = Math.ceil(left / (ascending.length - index) / TILE_TOKENS);
    const part = Math.min(load.tokens, left, tiles * TILE_TOKENS);
    if (part === 0) return;
    shares.set(load.sequence, part);
    left -= part;
  });
  return left;
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
