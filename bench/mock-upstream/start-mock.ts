import { join } from 'node:path';
import { type RunningChild, startChild } from '../harness/child-process.ts';

const READY_LIMIT_MS = 30_000;

/** How fast the mock upstream answers, milliseconds; both 0 unless given. */
export interface MockPace {
  answerDelayMs: number;
  eventIntervalMs: number;
}

/** Starts the mock upstream. */
export function startMock(pace: MockPace = { answerDelayMs: 0, eventIntervalMs: 0 }): Promise<RunningChild> {
  return startChild({
    name: 'mock upstream',
    nodeArgs: [
      join(import.meta.dirname, 'server.ts'),
      '--answer-delay-ms',
      String(pace.answerDelayMs),
      '--event-interval-ms',
      String(pace.eventIntervalMs),
    ],
    ready: /(http:\/\/127\.0\.0\.1:\d+)/,
    readyLimitMs: READY_LIMIT_MS,
  });
}
