/** How long something is done, and how many times at once. */
export interface Repetition {
  atOnce: number;
  seconds: number;
}

/** Fewest times that make a p99 more than the largest of a few. */
const LEAST = 100;
/** However slow it is, a window ends after so many times its seconds. */
const MOST_WINDOWS = 5;

/**
 * Does something again and again, for so many seconds and at least `LEAST` times, each time with the next of `places` numbers from 0.
 * What runs when the time is over is waited for and counts, with its time. `once` gives how long it took, in milliseconds.
 */
export async function repeat(
  { atOnce, seconds }: Repetition,
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
