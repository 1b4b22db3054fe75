import { TimeSlice } from '../lib/time-slices.ts';

/** Ingestion takes turns with organizations as if it were one. Few documents are chunked at the same time. */
const GROUP = 'ingestion';

/** A computation that yields at least every millisecond and returns its result. */
export type CooperativeSteps<T> = Generator<void, T>;

/**
 * Runs a computation in time slices, so that the event loop stays responsive. Short computations finish within one
 * slice; of several long ones, one slice runs per iteration of the event loop. Throws errors of the steps and the
 * signal's reason.
 */
export async function runCooperatively<T>(steps: CooperativeSteps<T>, signal: AbortSignal): Promise<T> {
  const slice = new TimeSlice(GROUP);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (!slice.isOver) continue;
    await slice.next();
    signal.throwIfAborted();
  }
}
