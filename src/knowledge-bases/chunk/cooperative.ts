import { setImmediate as nextTick } from 'node:timers/promises';

/** Time slice after which a computation yields to the event loop, which serves all requests. */
const SLICE_MS = 10;

/** A computation that yields at least every millisecond and returns its result. */
export type CooperativeSteps<T> = Generator<void, T>;

/** Tail of the queue of time slices. */
let queue: Promise<unknown> = Promise.resolve();

/**
 * Runs a computation in time slices, so that the event loop stays responsive. Short computations finish within one slice;
 * of several long ones, one slice runs per iteration of the event loop. Throws errors of the steps and the signal's reason.
 */
export async function runCooperatively<T>(steps: CooperativeSteps<T>, signal: AbortSignal): Promise<T> {
  let sliceEnds = performance.now() + SLICE_MS;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < sliceEnds) continue;
    queue = queue.then(() => nextTick());
    await queue;
    signal.throwIfAborted();
    sliceEnds = performance.now() + SLICE_MS;
  }
}
