import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** Where a prefix of a prompt is cached. */
export type PrefixSource =
  /** In a free slot, which continues from there. Its tokens beyond the prefix are lost. */
  | { kind: 'continue'; slot: number }
  /** In another slot, from which it is copied: in memory or through a file, whichever is faster. */
  | { kind: 'copy'; slot: number; viaFile: boolean; seconds: number }
  /** In a snapshot, which is loaded. */
  | { kind: 'load'; id: string; bytes: number };

/** A slot that is free. */
export interface FreeSlot {
  slot: number;
  /** Tokens of the slot that no other holder has. */
  exclusiveTokens: number;
  /** Increasing number; the lowest was used least recently. */
  usedAt: number;
  /** Passes of a decode step of all running completions if this slot is one of them (see `countPasses`). */
  passes: number;
}

/**
 * Counts the passes over the weights in which llama.cpp computes one token for each of these slots. It puts only
 * consecutive slots into one pass (`split_equal` with `sequential` in `llama-batch.cpp`).
 */
export function countPasses(slots: readonly number[]): number {
  const all = new Set(slots);
  return [...all].filter((slot) => !all.has(slot - 1)).length;
}

/** A cached prefix of a prompt. */
export interface CachedPrefix {
  source: PrefixSource;
  /** In tokens; at least the last token of the prompt is not included. */
  length: number;
  /** For `continue`: tokens beyond the prefix that no other holder has. */
  lostTokens: number;
}

/** Measured costs on this machine. */
export interface SlotCosts {
  prefillTokensPerSecond: number;
  readBytesPerSecond: number;
  /** Duration of one pass over the weights. */
  passSeconds: number;
}

/** A slot for a job, with the source of its prefix. `reused`: tokens of `source`; null source: nothing is reused. */
export interface SlotChoice {
  slot: number;
  source: PrefixSource | null;
  reused: number;
}

/**
 * Value of a token that is evicted, relative to one that is reused now: it may be requested again, and often is not.
 * Prefers a copy to continuing in place where a conversation branches off early.
 */
const EVICTED_TOKEN_WEIGHT = 0.25;

/** Completion length for which an additional pass per step is weighed against cached tokens. */
const EXPECTED_COMPLETION_TOKENS = 100;

/**
 * Selects the slot that saves the most time: prefill saved, minus copying or loading, minus the expected cost of
 * evicted tokens. A slot to overwrite is one that adds no pass, of these one whose tokens are held elsewhere, then the
 * least recently used. Null when no slot is free.
 */
export function selectSlot(
  free: readonly FreeSlot[],
  prefixes: readonly CachedPrefix[],
  costs: SlotCosts,
): SlotChoice | null {
  const [victim] = free.toSorted(
    (a, b) =>
      a.passes - b.passes ||
      Number(a.exclusiveTokens > 0) - Number(b.exclusiveTokens > 0) ||
      a.usedAt - b.usedAt ||
      a.slot - b.slot,
  );
  if (victim === undefined) return null;
  const passesOfSequence = new Map(free.map(({ slot, passes }) => [slot, passes]));
  const seconds = (tokens: number): number => tokens / costs.prefillTokensPerSecond;
  const overwriting = EVICTED_TOKEN_WEIGHT * seconds(victim.exclusiveTokens);
  let best: SlotChoice & { gain: number } = { slot: victim.slot, source: null, reused: 0, gain: -overwriting };
  for (const { source, length, lostTokens } of prefixes) {
    const continues = source.kind === 'continue';
    const isVictim = source.kind !== 'load' && source.slot === victim.slot;
    if (!continues && isVictim) continue;
    const morePasses = continues ? (passesOfSequence.get(source.slot) ?? 0) - victim.passes : 0;
    const slower = morePasses * costs.passSeconds * EXPECTED_COMPLETION_TOKENS;
    const cost = continues
      ? EVICTED_TOKEN_WEIGHT * seconds(lostTokens) + slower
      : overwriting + sourceSeconds(source, costs);
    const gain = seconds(length) - cost;
    if (gain <= best.gain) continue;
    best = { slot: continues ? source.slot : victim.slot, source, reused: length, gain };
  }
  return { slot: best.slot, source: best.source, reused: best.reused };
}

function sourceSeconds(source: PrefixSource, costs: SlotCosts): number {
  if (source.kind === 'load') return source.bytes / costs.readBytesPerSecond;
  return source.kind === 'copy' ? source.seconds : 0;
}

/** Minimum number of tokens for which a job waits until another job has computed them. */
const MIN_SHARED_TOKENS_TO_WAIT = 32;

/**
 * Whether a job waits: `upcomingTokens` of its prompt are being computed by another job, `computedTokens` are cached
 * now.
 */
export function shouldWait(computedTokens: number, upcomingTokens: number): boolean {
  return upcomingTokens - computedTokens >= MIN_SHARED_TOKENS_TO_WAIT;
}

/** Longest suffix, in tokens, that is computed token by token. */
const SHORT_SUFFIX_TOKENS = 16;
/** Up to this prompt length, attention takes a negligible part of the time. */
const SHORT_PROMPT_TOKENS = 512;

/**
 * Returns where to start the prefill of a prompt with `found` cached tokens. A suffix shorter than a tile takes longer
 * than a whole tile (see `ATTENTION_TILE_TOKENS`), so some cached tokens are computed again. One more than a tile, as
 * in `planStep`.
 */
export function prefillStart(found: number, promptTokens: number): number {
  const rest = promptTokens - found;
  if (rest <= SHORT_SUFFIX_TOKENS || rest > ATTENTION_TILE_TOKENS || promptTokens <= SHORT_PROMPT_TOKENS) return found;
  return promptTokens - ATTENTION_TILE_TOKENS - 1;
}

/** Fraction of the compute time that may go into snapshots that have not saved any time yet. */
const SNAPSHOT_TIME_FRACTION = 0.005;
/** Milliseconds of the budget at first, and at most. */
const INITIAL_BUDGET_MS = 50;
const MAX_BUDGET_MS = 5_000;

/**
 * Time budget for writing snapshots while requests are served. Time that snapshots save is credited, so that writing
 * goes on where prefixes are reused and costs next to nothing where they are not.
 */
export class SnapshotBudget {
  #milliseconds = INITIAL_BUDGET_MS;

  /** Whether a snapshot with this estimated duration may be written now. */
  allows(milliseconds: number): boolean {
    return milliseconds <= this.#milliseconds;
  }

  /** Credits a fraction of the time that was spent computing. */
  addComputeTime(milliseconds: number): void {
    this.#add(milliseconds * SNAPSHOT_TIME_FRACTION);
  }

  /** Credits the time that reading a snapshot saved. */
  addSaved(milliseconds: number): void {
    this.#add(milliseconds);
  }

  /** Charges the time that a snapshot took. */
  spend(milliseconds: number): void {
    this.#add(-milliseconds);
  }

  #add(milliseconds: number): void {
    this.#milliseconds = Math.min(MAX_BUDGET_MS, this.#milliseconds + milliseconds);
  }
}
