import { SLOT_WAIT_MS } from './limit-store.ts';

/** Durations that the estimate considers: enough for a long request, few enough to follow a change of load. */
const MAX_DURATIONS = 32;
/** Part of the recent requests that were no longer than the typical one. */
const QUANTILE = 0.9;
/** Upper bound of the estimate. The clients of OpenAI honor a `Retry-After` below a minute. */
const MAX_WAIT_MS = 59_000;
/** Promised waits that are remembered: beyond that, all rejected requests get the longest wait. */
const MAX_PROMISES = 1_024;

/** A running request of one key or organization. */
export interface RunningRequest {
  /** Milliseconds of a clock that never goes back. */
  readonly startedAt: number;
}

/**
 * Estimates when a slot of one key or organization is free, from its running requests and the durations of recent ones.
 * Rejected requests get turns: the second one waits for the second slot that is free.
 */
export class SlotWaits {
  /** In the order of their start. */
  readonly #running = new Set<RunningRequest>();
  readonly #durations: number[] = [];
  #next = 0;
  /** Times at which rejected requests come back, in no particular order. */
  #promised: number[] = [];

  /** Adds a request that has got a slot. */
  started(request: RunningRequest): void {
    this.#running.add(request);
  }

  /** Removes a request whose slot is free. */
  ended(request: RunningRequest, now: number): void {
    if (!this.#running.delete(request)) return;
    this.#durations[this.#next] = now - request.startedAt;
    this.#next = (this.#next + 1) % MAX_DURATIONS;
  }

  /** Milliseconds until a rejected request finds a free slot; whole seconds, as `Retry-After` has no fractions. */
  promise(now: number): number {
    this.#promised = this.#promised.filter((time) => time > now);
    const turn = this.#promised.length;
    const wait = Math.min(MAX_WAIT_MS, Math.max(SLOT_WAIT_MS, Math.ceil(this.#estimate(turn, now) / 1_000) * 1_000));
    if (turn < MAX_PROMISES) this.#promised.push(now + wait);
    return wait;
  }

  /** Milliseconds until the slot of a turn is free; 0 is the first. */
  #estimate(turn: number, now: number): number {
    const typical = this.#typicalDuration();
    const waits = [...this.#running].map(({ startedAt }) => remaining(now - startedAt, typical)).sort((a, b) => a - b);
    if (waits.length === 0) return SLOT_WAIT_MS;
    // Every slot that is free serves a waiting request, which takes as long as the others.
    return (waits[turn % waits.length] ?? 0) + Math.floor(turn / waits.length) * spacing(typical);
  }

  #typicalDuration(): number {
    const sorted = this.#durations.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * QUANTILE))] ?? SLOT_WAIT_MS;
  }
}

/** Time between two turns of one slot. A second's turns come at one moment, so short requests do not fill it. */
const spacing = (typical: number): number => Math.max(typical, Math.min(1_000, 4 * typical));

/** A request beyond the typical duration is expected to run as long again: long requests have heavy tails. */
const remaining = (age: number, typical: number): number => (age < typical ? typical - age : age);
