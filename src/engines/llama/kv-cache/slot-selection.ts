import { ATTENTION_TILE_TOKENS } from '../runtime/bindings.ts';

/** Where a beginning of a prompt stands computed. */
export type PrefixSource =
  /** In a sequence that is free: it goes on from there. What it holds beyond that is lost. */
  | { kind: 'own'; sequence: number }
  /** In another sequence, from which it is copied: at once, or by way of a file, whichever is `seconds` faster. */
  | { kind: 'copy'; sequence: number; viaFile: boolean; seconds: number }
  /** In a file, from which it is read. */
  | { kind: 'load'; id: string; bytes: number };

/** A sequence that a job can take. */
export interface FreeSequence {
  sequence: number;
  /** Tokens of it that nobody else holds. */
  exclusive: number;
  /** Rising number; the least was used least recently. */
  usedAt: number;
  /** Passes that a step of all running answers takes when this sequence is one of them (see `passesOf`). */
  passes: number;
}

/**
 * In how many passes over the weights llama.cpp computes one token for each of these sequences: it puts only those into
 * one pass whose numbers follow one another (`split_equal` with `sequential` in its `llama-batch.cpp`).
 */
export function passesOf(sequences: readonly number[]): number {
  const all = new Set(sequences);
  return [...all].filter((sequence) => !all.has(sequence - 1)).length;
}

/** A beginning of the prompt, computed. */
export interface ComputedPrefix {
  source: PrefixSource;
  /** Tokens of the prompt, all of them but the last at most. */
  length: number;
  /** For `own`: tokens beyond that nobody else holds. */
  lost: number;
}

/** What things cost on this machine. */
export interface SeatCosts {
  prefillTokensPerSecond: number;
  readBytesPerSecond: number;
  /** One pass over the weights for a token. */
  passSeconds: number;
}

/** The sequence that a job takes, and what it finds there. `reused` tokens of `source`; null: nothing is reused. */
export interface Seat {
  sequence: number;
  source: PrefixSource | null;
  reused: number;
}

/**
 * What a token that is lost is worth beside one that is saved now: it may be asked for again, and often is not. With
 * this, a copy is preferred to going on in place where a conversation branches off early in a long one.
 */
const WORTH_OF_LOST = 0.25;

/** Tokens of an answer, for which a pass more in each step is weighed against what a sequence holds. */
const EXPECTED_ANSWER_TOKENS = 100;

/**
 * The seat that saves most time: computing saved, less copying or reading, less what others will have to compute again.
 * Where a sequence is to be overwritten, it is one that joins the running ones, of these one whose tokens others hold
 * too, else the least recently used. Null when no sequence is free.
 */
export function chooseSeat(
  free: readonly FreeSequence[],
  prefixes: readonly ComputedPrefix[],
  costs: SeatCosts,
): Seat | null {
  const [victim] = free.toSorted(
    (a, b) =>
      a.passes - b.passes ||
      Number(a.exclusive > 0) - Number(b.exclusive > 0) ||
      a.usedAt - b.usedAt ||
      a.sequence - b.sequence,
  );
  if (victim === undefined) return null;
  const passesOfSequence = new Map(free.map(({ sequence, passes }) => [sequence, passes]));
  const seconds = (tokens: number): number => tokens / costs.prefillTokensPerSecond;
  const overwriting = WORTH_OF_LOST * seconds(victim.exclusive);
  let best: Seat & { gain: number } = { sequence: victim.sequence, source: null, reused: 0, gain: -overwriting };
  for (const { source, length, lost } of prefixes) {
    const own = source.kind === 'own';
    const isVictim = source.kind !== 'load' && source.sequence === victim.sequence;
    if (!own && isVictim) continue;
    const morePasses = own ? (passesOfSequence.get(source.sequence) ?? 0) - victim.passes : 0;
    const slower = morePasses * costs.passSeconds * EXPECTED_ANSWER_TOKENS;
    const cost = own ? WORTH_OF_LOST * seconds(lost) + slower : overwriting + sourceSeconds(source, costs);
    const gain = seconds(length) - cost;
    if (gain <= best.gain) continue;
    best = { sequence: own ? source.sequence : victim.sequence, source, reused: length, gain };
  }
  return { sequence: best.sequence, source: best.source, reused: best.reused };
}

function sourceSeconds(source: PrefixSource, costs: SeatCosts): number {
  if (source.kind === 'load') return source.bytes / costs.readBytesPerSecond;
  return source.kind === 'copy' ? source.seconds : 0;
}

/** Tokens that another job is computing and that are worth waiting for rather than computing them again. */
const WORTH_WAITING_TOKENS = 32;

/** Whether a job waits: `coming` tokens of its prompt will soon be computed by another, `computed` are already. */
export function shouldWait(computed: number, coming: number): boolean {
  return coming - computed >= WORTH_WAITING_TOKENS;
}

/** Rests that are as short are faster as they are. */
const SHORT_REST = 16;
/** In contexts that are as short, attention takes hardly any time. */
const SHORT_PROMPT = 512;

/**
 * Where to go on computing a prompt of which `found` tokens are computed. A rest of less than a tile takes longer than a
 * whole one (see `ATTENTION_TILE_TOKENS`): some of what is there is then computed again. One more than a tile, as in `planStep`.
 */
export function startOfRest(found: number, promptTokens: number): number {
  const rest = promptTokens - found;
  if (rest <= SHORT_REST || rest > ATTENTION_TILE_TOKENS || promptTokens <= SHORT_PROMPT) return found;
  return promptTokens - ATTENTION_TILE_TOKENS - 1;
}

/** Share of the time of computing that saving may take where nothing was gained by it yet. */
const SAVING_PART = 0.005;
/** Saving that may be done ahead of that, and what may be put by. */
const FIRST_CREDIT_MS = 50;
const MOST_CREDIT_MS = 5_000;

/**
 * How much time may be spent on saving states while requests are served. What reading them back has saved is earned,
 * so that saving goes on where it pays; where nothing is ever asked for twice it costs next to nothing.
 */
export class SavingCredit {
  #milliseconds = FIRST_CREDIT_MS;

  /** A state that is estimated to take so long may be saved now. */
  allows(milliseconds: number): boolean {
    return milliseconds <= this.#milliseconds;
  }

  computed(milliseconds: number): void {
    this.#add(milliseconds * SAVING_PART);
  }

  /** Reading a state saved so much computing. */
  gained(milliseconds: number): void {
    this.#add(milliseconds);
  }

  spent(milliseconds: number): void {
    this.#add(-milliseconds);
  }

  #add(milliseconds: number): void {
    this.#milliseconds = Math.min(MOST_CREDIT_MS, this.#milliseconds + milliseconds);
  }
}
