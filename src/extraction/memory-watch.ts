/**
 * Watchdog thread of a reader process. Kills the process when its resident memory exceeds the limit (V8's heap limit
 * does not cover buffers) or when its parent has exited. A thread, because a document may block the main thread.
 */
import { workerData } from 'node:worker_threads';
import { killGroup } from './kill-group.ts';

/** Parameters of the watchdog. */
export interface MemoryWatch {
  /** Maximum resident memory. */
  bytes: number;
  /** Process id of the parent. */
  parent: number;
}

/** Milliseconds between checks. */
const INTERVAL_MS = 250;

const { bytes, parent } = workerData as MemoryWatch;

setInterval(() => {
  if (process.memoryUsage.rss() > bytes || process.ppid !== parent) killGroup(process.pid);
}, INTERVAL_MS);
