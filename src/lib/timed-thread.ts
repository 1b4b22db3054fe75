import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

/** Message from the module of a `TimedThread`: the thread has started, or a task has completed. */
export type TimedThreadReply<Result> = 'ready' | { result: Result };

interface PendingTask<Task, Result> {
  /** The organization. */
  scope: string;
  task: Task;
  resolve(result: Result | null): void;
}

/**
 * A worker thread for tasks that may never end, such as regular expressions that backtrack. The first task starts the
 * thread. Tasks of organizations are scheduled round-robin. A task that exceeds `limitMs` terminates the thread and
 * fails; queued tasks run in a new thread. The thread does not keep the process alive. `module` answers each message
 * with a `TimedThreadReply`.
 */
export class TimedThread<Task, Result> {
  readonly #module: URL;
  readonly #limitMs: number;
  readonly #waiting = new FairQueue<PendingTask<Task, Result>>();
  #worker: Worker | null = null;
  #isReady = false;
  #current: { pending: PendingTask<Task, Result>; timer: NodeJS.Timeout } | null = null;

  constructor(module: URL, limitMs: number) {
    this.#module = module;
    this.#limitMs = limitMs;
  }

  /** Runs a task. Resolves with null if it exceeds the time limit or the thread fails. */
  run(scope: string, task: Task): Promise<Result | null> {
    const { promise, resolve } = Promise.withResolvers<Result | null>();
    this.#waiting.add(scope, { scope, task, resolve });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#current !== null || this.#waiting.size === 0) return;
    this.#worker ??= this.#open();
    if (!this.#isReady) return;
    const pending = this.#waiting.take();
    if (pending === undefined) return;
    this.#current = { pending, timer: setTimeout(() => this.#end(), this.#limitMs) };
    this.#worker.ref();
    this.#worker.postMessage(pending.task);
  }

  #open(): Worker {
    const worker = new Worker(this.#module, { name: 'timed' });
    worker.on('message', (reply: TimedThreadReply<Result>) => {
      if (worker !== this.#worker) return;
      if (reply === 'ready') this.#isReady = true;
      else this.#take()?.resolve(reply.result);
      worker.unref();
      this.#next();
    });
    worker.on('error', () => {
      if (worker === this.#worker) this.#end();
    });
    return worker;
  }

  /** Terminates the thread and fails the current task, or the next task if the thread could not start. */
  #end(): void {
    void this.#worker?.terminate();
    this.#worker = null;
    this.#isReady = false;
    (this.#take() ?? this.#waiting.take())?.resolve(null);
    this.#next();
  }

  #take(): PendingTask<Task, Result> | null {
    const current = this.#current;
    this.#current = null;
    clearTimeout(current?.timer);
    return current?.pending ?? null;
  }
}
