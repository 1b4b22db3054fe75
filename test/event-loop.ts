/** How often a watched event loop is looked at. */
const LOOK_MS = 5;

/**
 * Watches the event loop of this thread. `longestMs` ends that, and gives the longest time that the thread itself has computed
 * between two looks: what a busy machine takes from it meanwhile does not count.
 */
export function watchLoop(): { longestMs(): number } {
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
