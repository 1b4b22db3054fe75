import type { Logger } from './logger.ts';
import { describeError } from './operator-error.ts';

/** A task that runs periodically. */
export interface PeriodicTask {
  /** Runs the task now; once more after the current run if it is running. */
  trigger(): void;
  /** Resolves when a running task has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `task` immediately and then `periodMs` after the end of each run, so runs never overlap. A failed run is logged
 * and does not stop the schedule.
 */
export function runPeriodically(
  periodMs: number,
  name: string,
  task: () => Promise<void>,
  logger: Logger,
): PeriodicTask {
  let timer: NodeJS.Timeout | undefined;
  let state: 'waiting' | 'running' | 'triggered' | 'stopped' = 'waiting';
  let running = Promise.resolve();
  const run = () => {
    clearTimeout(timer);
    state = 'running';
    running = task()
      .catch((error: unknown) => logger.error({ task: name, reason: describeError(error) }, 'background task failed'))
      .then(schedule);
  };
  const schedule = () => {
    if (state === 'triggered') return run();
    if (state === 'stopped') return;
    state = 'waiting';
    timer = setTimeout(run, periodMs).unref();
  };
  run();
  return {
    trigger: () => {
      if (state === 'waiting') run();
      else if (state === 'running') state = 'triggered';
    },
    stop: () => {
      state = 'stopped';
      clearTimeout(timer);
      return running;
    },
  };
}
