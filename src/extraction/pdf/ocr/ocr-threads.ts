import { Worker } from 'node:worker_threads';
import { forEachConcurrent } from '../../../lib/for-each-concurrent.ts';
import { MAX_OCR_PAGES, PAGE_SECONDS } from './limits.ts';
import type { OcrThreadData, PageReply, PageTask } from './ocr-thread.ts';

/** JavaScript heap of a thread; pixels and Tesseract's memory are outside. */
const HEAP_MB = 128;

/**
 * Reads pages by OCR in threads, and calls `onPage` after each. Returns a reply for each task: a page that takes too
 * long or ends its thread has an error, as have those above the maximum number of pages.
 */
export async function recognizeInThreads(
  data: OcrThreadData,
  tasks: readonly PageTask[],
  { threads, onPage }: { threads: number; onPage: (read: number, pages: number) => void },
): Promise<PageReply[]> {
  const replies = tasks.map((): PageReply => ({ error: `only ${MAX_OCR_PAGES} pages are read` }));
  const free: Worker[] = [];
  let read = 0;
  const work = async ([index, task]: [number, PageTask]) => {
    const thread = free.pop() ?? startThread(data);
    const reply = await readPage(thread, task);
    replies[index] = reply ?? { error: `it takes more than ${PAGE_SECONDS} seconds, or too much memory` };
    // After an error, the memory of WebAssembly may be in any state.
    if (reply === null || 'error' in reply) await thread.terminate();
    else free.push(thread);
    read += 1;
    onPage(read, tasks.length);
  };
  try {
    await forEachConcurrent(tasks.slice(0, MAX_OCR_PAGES).entries(), threads, work);
    return replies;
  } finally {
    await Promise.all(free.map((thread) => thread.terminate()));
  }
}

function startThread(data: OcrThreadData): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
  const thread = new Worker(new URL('./ocr-thread.ts', import.meta.url), {
    name: 'ocr',
    workerData: data,
    resourceLimits,
  });
  // An error is followed by `exit`.
  return thread.on('error', () => {});
}

/** Returns the reply of a thread; null when it has to be ended. */
async function readPage(thread: Worker, task: PageTask): Promise<PageReply | null> {
  const { promise, resolve } = Promise.withResolvers<PageReply | null>();
  const end = () => resolve(null);
  const timer = setTimeout(end, PAGE_SECONDS * 1_000);
  thread.once('message', resolve).once('exit', end);
  thread.postMessage(task);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    thread.off('message', resolve).off('exit', end);
  }
}
