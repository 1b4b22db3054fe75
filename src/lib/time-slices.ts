import { FairQueue } from './fair-queue.ts';

/** Time that a computation takes of the event loop before it waits for its next slice. */
export const SLICE_MS = 5;
/** Rounds of the event loop between two slices. A short request needs dozens of rounds, most without work. */
const ROUNDS_BETWEEN_SLICES = 4;

/** Computations of this thread that wait for a slice. */
const waiting = new FairQueue<() => void>();
let isScheduled = false;

/**
 * Resolves when a long computation may use the event loop of this thread for another `SLICE_MS`. Long computations get
 * one slice at a time, organizations in turn, with rounds of I/O between them: however many there are, a short request
 * waits for few slices. `group`: the organization.
 */
export function nextSlice(group: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.add(group, resolve);
  if (!isScheduled) schedule(ROUNDS_BETWEEN_SLICES);
  return promise;
}

function schedule(rounds: number): void {
  isScheduled = true;
  setImmediate(() => {
    if (rounds > 1) return schedule(rounds - 1);
    // The computation runs after this callback, before the next one.
    waiting.take()?.();
    if (waiting.size > 0) schedule(ROUNDS_BETWEEN_SLICES);
    else isScheduled = false;
  });
}

/** Measures the slice of a computation, which begins with its construction. */
export class TimeSlice {
  readonly #group: string;
  #endsAt = performance.now() + SLICE_MS;

  /** `group`: the organization. */
  constructor(group: string) {
    this.#group = group;
  }

  /** Whether the slice is used up: call `next` then. */
  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Waits for the next slice. */
  async next(): Promise<void> {
    await nextSlice(this.#group);
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
