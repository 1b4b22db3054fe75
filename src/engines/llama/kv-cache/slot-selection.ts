import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** Where a beginning of a prompt stands computed. */
export type PrefixSource =
  /** In a sequence that is free: it goes on from there. What it holds beyond that is lost. */
  | { kind: 'continue'; slot: number }
  /** In another sequence, from which it is copied: at once, or by way of a file, whichever is `seconds` faster. */
  | { kind: 'copy'; slot: number; viaFile: boolean; seconds: number }
  /** In a file, from which it is read. */
  | { kind: 'load'; id: string; bytes: number };

/** A sequence that a job can take. */
export interface FreeSlot {
  slot: number;
  /** Tokens of it that nobody else holds. */
  exclusiveTokens: number;
  /** Rising number; the least was used least recently. */
  usedAt: number;
  /** Passes that a step of all running answers takes when this sequence is one of them (see `countPasses`). */
  passes: number;
}

/**
 * In how many passes over the weights llama.cpp computes one token for each of these sequences: it puts only those into
 * one pass whose numbers follow one another (`split_equal` with `sequential` in its `llama-batch.cpp`).
 */
export function countPasses(slots: readonly number[]): number {
  const all = new Set(slots);
  return [...all].filter((slot) => !all.has(slot - 1)).length;
}

/** A beginning of the prompt, computed. */
export interface CachedPrefix {
  source: PrefixSource;
  /** Tokens of the prompt, all of them but the last at most. */
  length: number;
  /** For `own`: tokens beyond that nobody else holds. */
  lostTokens: number;
}

/** What things cost on this machine. */
export interface SlotCosts {
  prefillTokensPerSecond: number;
  readBytesPerSecond: number;
  /** One pass over the weights for a token. */
  passSeconds: number;
}

/** The sequence that a job takes, and what it finds there. `reused` tokens of `source`; null: nothing is reused. */
export interface SlotChoice {
  slot: number;
  source: PrefixSource | null;
  reused: number;
}

/**
 * What a token that is lost is worth beside one that is saved now: it may be asked for again, and often is not. With
 * this, a copy is preferred to going on in place where a conversation branches off early in a long one.
 */
const EVICTED_TOKEN_WEIGHT = 0.25;

/** Tokens of an answer, for which a pass more in each step is weighed against what a sequence holds. */
const EXPECTED_COMPLETION_TOKENS = 100;

/**
 * The seat that saves most time: computing saved, less copying or reading, less what others will have to compute again.
 * Where a sequence is to be overwritten, it is one that joins the running ones, of these one whose tokens others hold
 * too, else the least recently used. Null when no sequence is free.
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

/** Tokens that another job is computing and that are worth waiting for rather than computing them again. */
const MIN_SHARED_TOKENS_TO_WAIT = 32;

/** Whether a job waits: `coming` tokens of its prompt will soon be computed by another, `computed` are already. */
export function shouldWait(computedTokens: number, upcomingTokens: number): boolean {
  return upcomingTokens - computedTokens >= MIN_SHARED_TOKENS_TO_WAIT;
}

/** Rests that are as short are faster as they are. */
const SHORT_SUFFIX_TOKENS = 16;
/** In contexts that are as short, attention takes hardly any time. */
const SHORT_PROMPT_TOKENS = 512;

/**
 * Where to go on computing a prompt of which `found` tokens are computed. A rest of less than a tile takes longer than a
 * whole one (see `ATTENTION_TILE_TOKENS`): some of what is there is then computed again. One more than a tile, as in `planStep`.
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
 * Time budget for writing snapshots while requests are served. Time that snapshots save is credited, so that writing goes
 * on where prefixes are reused and costs next to nothing where they are not.
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
