import { Worker } from 'node:worker_threads';
import { raiseOomScore } from '../lib/oom-score.ts';
import { killGroup } from './kill-group.ts';
import type { MemoryWatch } from './memory-watch.ts';
import type { ReaderReply, ReaderRequest } from './reader-protocol.ts';

/**
 * Runs the current process as a reader: answers requests one at a time, and exits with its parent or above the memory
 * limit (first argument, in megabytes). Call it once.
 */
export function runReader(answer: (request: ReaderRequest) => Promise<ReaderReply>): void {
  process.title = 'quire-reader';
  // The kernel kills readers before the service.
  raiseOomScore(1_000);
  process.on('message', async (request: ReaderRequest) => {
    const reply = await answer(request);
    if (process.connected) process.send?.(reply);
  });
  // SIGKILL, because an orderly exit would wait for the document.
  process.on('disconnect', () => killGroup(process.pid));
  const watch: MemoryWatch = { bytes: Number(process.argv[2]) * 2 ** 20, parent: process.ppid };
  new Worker(new URL('./memory-watch.ts', import.meta.url), { name: 'watch', workerData: watch }).unref();
}
