import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds that are computed at a stretch: this thread answers all requests meanwhile. */
const TURN_MS = 10;

/** A computation in steps, each of a millisecond at the most; it returns what it comes to. */
export type CooperativeSteps<T> = Generator<void, T>;

/** Resolves when the last one that waits now has its turn. */
let turns: Promise<unknown> = Promise.resolve();

/**
 * Runs a computation, and lets this thread do other things between its steps. One that is short is done at once; of several long ones
 * only one goes on in each turn of the event loop. Throws what the steps throw, and the signal's reason when it aborts.
 */
export async function runCooperatively<T>(steps: CooperativeSteps<T>, signal: AbortSignal): Promise<T> {
  let turnEnds = performance.now() + TURN_MS;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < turnEnds) continue;
    turns = turns.then(() => nextTurn());
    await turns;
    signal.throwIfAborted();
    turnEnds = performance.now() + TURN_MS;
  }
}
