/** Tokens of one step at most. Larger steps compute no faster on a CPU, and make everyone wait longer for the next. */
export const STEP_TOKENS = 512;
/** Tokens of prompts in a step that also carries running answers: bounds how long those stall. */
const PREFILL_TOKENS_BESIDE_ANSWERS = 128;

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

/**
 * Who gets how many tokens in the next step. Running answers get their one token each; prompts share what is left,
 * equal parts at a time so that a short one is not kept by a long one, interactive before batch. In order of sequence.
 */
export function planStep(loads: readonly SequenceLoad[], stepTokens = STEP_TOKENS): SequenceShare[] {
  const shares = new Map<number, number>();
  let left = stepTokens;
  for (const { sequence, tokens } of loads) {
    if (tokens !== 1 || left === 0) continue;
    shares.set(sequence, 1);
    left -= 1;
  }
  if (shares.size > 0) left = Math.min(left, PREFILL_TOKENS_BESIDE_ANSWERS);
  for (const priority of ['interactive', 'batch'] as const) {
    const prompts = loads.filter((load) => load.tokens > 1 && load.priority === priority);
    left = shareOut(prompts, left, shares);
  }
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

/** What a sequence that is free still holds. */
export interface HeldPrefix {
  sequence: number;
  scope: string | null;
  tokens: readonly number[];
}

/**
 * The free sequence to take for a prompt: the one of the same scope that holds most of its beginning, else the one that
 * loses least. What is held for another scope is never used. Null when none is free.
 */
export function pickSequence(
  free: readonly HeldPrefix[],
  scope: string,
  prompt: readonly number[],
): { sequence: number; reused: number } | null {
  let best: { sequence: number; reused: number; held: number } | null = null;
  for (const { sequence, scope: owner, tokens } of free) {
    // The last token is always computed: its logits are what the answer begins with.
    const reused = owner === scope ? commonPrefix(tokens, prompt, prompt.length - 1) : 0;
    const better = best === null || reused > best.reused || (reused === best.reused && tokens.length < best.held);
    if (better) best = { sequence, reused, held: tokens.length };
  }
  return best === null ? null : { sequence: best.sequence, reused: best.reused };
}

function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const most = Math.min(a.length, b.length, limit);
  let length = 0;
  while (length < most && a[length] === b[length]) length += 1;
  return length;
}
