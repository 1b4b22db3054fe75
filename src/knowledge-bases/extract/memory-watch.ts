/**
 * The thread of a reader that ends its process, since a document may keep the main one from everything else: when it takes too much memory
 * (V8's limits do not reach buffers outside of its heap), and when its parent is gone.
 */
import { workerData } from 'node:worker_threads';

/** What is watched. */
export interface Watched {
  /** Of resident memory, at the most. */
  bytes: number;
  /** The id of the parent. */
  parent: number;
}

/** Milliseconds between two looks. */
const WATCH_MS = 250;

const { bytes, parent } = workerData as Watched;

setInterval(() => {
  if (process.memoryUsage.rss() > bytes || process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, WATCH_MS);
