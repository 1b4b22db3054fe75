/** Duration and concurrency. */
export interface RepeatOptions {
  atOnce: number;
  seconds: number;
}

/** Minimum repetitions for a meaningful p99. */
const LEAST = 100;
/** Maximum duration of a window, as a multiple of its nominal one. */
const MOST_WINDOWS = 5;

/**
 * Repeats `once` for a duration and at least `LEAST` times, with the next of `places` indexes from 0. Waits for and
 * counts calls in progress at the end. `once` returns its duration in milliseconds.
 */
export async function repeat(
  { atOnce, seconds }: RepeatOptions,
  places: number,
  once: (place: number, client: number) => Promise<number>,
): Promise<{ latenciesMs: number[]; seconds: number }> {
  const latenciesMs: number[] = [];
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  let next = 0;
  const isOver = () => elapsed() >= seconds && (next >= LEAST || elapsed() >= seconds * MOST_WINDOWS);
  const work = async (client: number): Promise<void> => {
    while (!isOver()) latenciesMs.push(await once(next++ % places, client));
  };
  await Promise.all(Array.from({ length: atOnce }, (_, client) => work(client)));
  return { latenciesMs, seconds: elapsed() };
}
