import { Worker } from 'node:worker_threads';
import { raiseOomScore } from '../../lib/oom-score.ts';
import type { Watched } from './memory-watch.ts';
import type { ReaderReply, ReaderRequest } from './reader-protocol.ts';

/**
 * Makes this process a reader: answers one request after the other, and ends with its parent, or when it takes more memory than its first
 * argument says, in megabytes. Called once.
 */
export function runReaderLifecycle(answer: (request: ReaderRequest) => Promise<ReaderReply>): void {
  process.title = 'quire-reader';
  // A document may fail; the service may not.
  raiseOomScore(1_000);
  process.on('message', async (request: ReaderRequest) => {
    const reply = await answer(request);
    if (process.connected) process.send?.(reply);
  });
  // The parent is gone. No orderly exit: that would wait for the document.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const watched: Watched = { bytes: Number(process.argv[2]) * 2 ** 20, parent: process.ppid };
  new Worker(new URL('./memory-watch.ts', import.meta.url), { name: 'watch', workerData: watched }).unref();
}
