/** Sampling interval of a watched event loop. */
const LOOK_MS = 5;

/**
 * Watches the event loop of this thread. `longestMs` stops the watch and returns the longest CPU time of the thread
 * between two samples, which excludes time taken by other processes.
 */
export function watchEventLoop(): { longestMs(): number } {
  let longest = 0;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    longestMs: () => {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}
