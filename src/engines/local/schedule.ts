/** Tokens of one step at most where nothing was measured. */
export const STEP_TOKENS = 512;

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
 * equal parts at a time so that a short one is not kept by a long one, interactive before batch, which still gets a
 * small part so that it never stands still. In order of sequence.
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

/** The shortest first, each at most an equal part of what is left. Returns what is left after all. */
function shareOut(prompts: readonly SequenceLoad[], tokens: number, shares: Map<number, number>): number {
  let left = tokens;
  const ascending = prompts.toSorted((a, b) => a.tokens - b.tokens || a.sequence - b.sequence);
  ascending.forEach((load, index) => {
    const part = Math.min(load.tokens, Math.ceil(left / (ascending.length - index)));
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
