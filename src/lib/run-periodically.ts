import type { Logger } from './logger.ts';
import { describeError } from './operator-error.ts';

/**
 * Runs `task` now and then `periodMs` after each run has ended, so runs never overlap. A run that fails is logged and
 * the next one is tried at its time. `stop()` resolves when a run under way has ended.
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
