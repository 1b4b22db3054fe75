import type { Logger } from './logger.ts';
import { describeError } from './operator-error.ts';

/**
 * Runs `task` immediately and then `periodMs` after the end of each run, so runs never overlap. A failed run is logged and does not
 * stop the schedule. `stop()` resolves when a running task has ended.
 */
export function runPeriodically(
  periodMs: number,
  name: string,
  task: () => Promise<void>,
  logger: Logger,
): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running = Promise.resolve();
  const run = () => {
    running = task()
      .catch((error: unknown) => logger.error({ task: name, reason: describeError(error) }, 'background task failed'))
      .then(() => {
        if (!isStopped) timer = setTimeout(run, periodMs).unref();
      });
  };
  run();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      return running;
    },
  };
}
