import type { FactoredGrammar } from '@quire/json-schema-grammar';
import { ApiError, type ErrorFacts, engineUnavailable, invalidValue } from '../../../errors.ts';
import { toErrorFacts } from '../../../lib/error-facts.ts';
import { rejectOnAbort } from '../../../lib/reject-on-abort.ts';
import { type AdmissionTicket, FairAdmission } from '../../fair-admission.ts';
import { nextAction } from './compile-scheduler.ts';
import { CompilerThread, isOutOfMemory } from './compiler-thread.ts';
import { requireReasonableSize } from './estimate-size.ts';
import { type CachedResult, GrammarCache, grammarKey } from './grammar-cache.ts';
import { type GrammarSource, grammarParam } from './request-grammar.ts';

/** Limit of the CPU time of one grammar. The largest schemas in common use take a second. */
const LIMIT_MS = 10_000;
/** Maximum waiting compilations; one organization may have three quarters of them (`FairAdmission`). */
const MAX_QUEUED = 256;
/** `Retry-After` of rejected requests. */
const BUSY_RETRY_SECONDS = 5;
/** Threads that are kept when nothing was compiled for `IDLE_MS`. */
const IDLE_THREADS = 1;
const IDLE_MS = 30_000;
/** Minimum interval between two checks of the CPU time of a compilation. */
const MIN_CHECK_MS = 20;

/** Options of a grammar compiler, for tests. */
export interface GrammarCompilerOptions {
  /** Limit of the CPU time of one grammar in milliseconds. */
  limitMs?: number;
  maxQueued?: number;
}

/** Whom a grammar is compiled for. */
export interface CompilationRequester {
  /** The organization. */
  scope: string;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
}

interface Job {
  key: string;
  scope: string;
  source: GrammarSource;
  arrivedAt: number;
  isLong: boolean;
  ticket: AdmissionTicket;
  /** Requests that wait for it. */
  waiters: number;
  settled: PromiseWithResolvers<FactoredGrammar>;
  run: Run | null;
}

interface Run {
  thread: CompilerThread;
  startedAt: number;
  limitTimer: NodeJS.Timeout;
}

/**
 * Compiles grammars on worker threads, fairly among organizations (`compile-scheduler.ts`), and caches grammars and
 * rejections. Threads are started on demand, with one ready in advance.
 */
export class GrammarCompiler {
  readonly #limitMs: number;
  readonly #maxQueued: number;
  readonly #cache = new GrammarCache();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  /** By organization and key, in order of arrival. */
  readonly #jobs = new Map<string, Job>();
  readonly #threads = new Set<CompilerThread>();
  readonly #lastStartedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ limitMs = LIMIT_MS, maxQueued = MAX_QUEUED }: GrammarCompilerOptions = {}) {
    this.#limitMs = limitMs;
    this.#maxQueued = maxQueued;
  }

  /**
   * Compiles a grammar. Rejects with 400 for what cannot be enforced or takes too long, with 503 when too many
   * compilations of the organization wait, and with the reason of the signal. A compilation that nobody waits for any
   * more is dropped.
   */
  async compile(source: GrammarSource, { scope, signal }: CompilationRequester): Promise<FactoredGrammar> {
    signal.throwIfAborted();
    const key = grammarKey(source);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return requireGrammar(cached);
    requireReasonableSize(source);
    const job = this.#jobs.get(jobKey(scope, key)) ?? this.#enqueue(source, scope, key);
    job.waiters += 1;
    try {
      return await rejectOnAbort(job.settled.promise, signal);
    } finally {
      job.waiters -= 1;
      if (job.waiters === 0) this.#remove(job);
    }
  }

  /** Ends the threads. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#jobs.values()]) this.#reject(job, new Error('The grammar compiler is closed.'));
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  #enqueue(source: GrammarSource, scope: string, key: string): Job {
    const job: Omit<Job, 'ticket'> = {
      key,
      scope,
      source,
      arrivedAt: performance.now(),
      isLong: false,
      waiters: 0,
      settled: Promise.withResolvers<FactoredGrammar>(),
      run: null,
    };
    const ticket = this.#admission.enter({
      scope,
      share: 1 / this.#maxQueued,
      evict: (error) => this.#reject(queued, error),
    });
    const queued: Job = Object.assign(job, { ticket });
    this.#jobs.set(jobKey(scope, key), queued);
    this.#schedule();
    return queued;
  }

  /** Starts and preempts compilations until there is nothing to do, or no thread is ready. */
  #schedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (!this.#isClosed && this.#step());
  }

  /** Takes one action of the scheduler. False when the next one needs a change of the state. */
  #step(): boolean {
    const now = performance.now();
    const jobs = [...this.#jobs.values()];
    const waiting = jobs.filter(({ run }) => run === null);
    const running = jobs.filter(({ run }) => run !== null);
    const ranMs = ({ run }: Job): number => now - (run?.startedAt ?? now);
    const action = nextAction({
      waiting,
      running: running.map((job) => ({ scope: job.scope, isLong: job.isLong, ranMs: ranMs(job) })),
      lastStartedAt: this.#lastStartedAt,
    });
    // One thread more than runs, so that the next compilation need not wait for a thread to start.
    if (jobs.length > 0 && this.#threads.size <= running.length) this.#startThread();
    if (action === null) {
      if (jobs.length === 0) this.#timer = setTimeout(() => this.#endIdleThreads(), IDLE_MS).unref();
      return false;
    }
    if ('waitMs' in action) {
      this.#timer = setTimeout(() => this.#schedule(), Math.ceil(action.waitMs) + 1).unref();
      return false;
    }
    if ('preempt' in action) {
      const preempted = running[action.preempt];
      if (preempted === undefined) return false;
      preempted.isLong = true;
      this.#stop(preempted);
      return true;
    }
    const job = waiting[action.start];
    const thread = this.#idleThread();
    if (job === undefined || thread === undefined) return false;
    this.#start(job, thread);
    return true;
  }

  #start(job: Job, thread: CompilerThread): void {
    const cpuBefore = thread.cpuMs().catch(() => 0);
    const checkAfter = (ms: number): NodeJS.Timeout => setTimeout(() => void check(), ms).unref();
    const run: Run = { thread, startedAt: performance.now(), limitTimer: checkAfter(this.#limitMs) };
    const check = async (): Promise<void> => {
      // Rejects when the thread has ended.
      const cpuMs = await thread.cpuMs().catch(() => 0);
      const usedMs = cpuMs - (await cpuBefore);
      if (job.run !== run) return;
      if (usedMs < this.#limitMs) run.limitTimer = checkAfter(Math.max(MIN_CHECK_MS, this.#limitMs - usedMs));
      else this.#end(job, { rejection: createRejection(job.source, TOO_LONG) });
    };
    job.run = run;
    job.ticket.markStarted();
    this.#lastStartedAt.set(job.scope, run.startedAt);
    thread.compile(job.source);
  }

  /** Ends the thread of a running compilation. */
  #stop(job: Job): void {
    const thread = this.#release(job);
    if (thread === null) return;
    this.#threads.delete(thread);
    void thread.terminate();
  }

  /** Takes its thread from a job. Null: it had none. */
  #release(job: Job): CompilerThread | null {
    const { run } = job;
    if (run === null) return null;
    clearTimeout(run.limitTimer);
    job.run = null;
    return run.thread;
  }

  /** Removes a job without a result, if it is still there. */
  #remove(job: Job): void {
    const key = jobKey(job.scope, job.key);
    if (this.#jobs.get(key) !== job) return;
    this.#jobs.delete(key);
    job.ticket.leave();
    this.#stop(job);
    // Turns matter only while other compilations of the organization wait.
    if (![...this.#jobs.values()].some(({ scope }) => scope === job.scope)) this.#lastStartedAt.delete(job.scope);
    this.#schedule();
  }

  #reject(job: Job, error: unknown): void {
    job.settled.reject(error);
    this.#remove(job);
  }

  /** Settles a job and caches its result. */
  #end(job: Job, result: CachedResult): void {
    this.#cache.set(job.key, result, job.scope);
    if ('grammar' in result) job.settled.resolve(result.grammar);
    else job.settled.reject(new ApiError(result.rejection));
    this.#remove(job);
  }

  #idleThread(): CompilerThread | undefined {
    const busy = new Set([...this.#jobs.values()].map(({ run }) => run?.thread));
    return [...this.#threads].find((thread) => thread.isReady && !busy.has(thread));
  }

  #startThread(): void {
    const thread: CompilerThread = new CompilerThread({
      ready: () => this.#schedule(),
      compiled: (result) => {
        const job = this.#jobOn(thread);
        if (job === undefined) return;
        this.#release(job);
        // An internal error is not a property of the schema: it is not cached.
        if ('rejection' in result && result.rejection.status >= 500) this.#reject(job, new ApiError(result.rejection));
        else this.#end(job, result);
      },
      failed: (error) => this.#threadFailed(thread, error),
    });
    this.#threads.add(thread);
  }

  #threadFailed(thread: CompilerThread, error: unknown): void {
    this.#threads.delete(thread);
    const job = this.#jobOn(thread);
    if (job === undefined) {
      // A thread that cannot start: no compilation would ever end.
      if (!thread.isReady) for (const waiting of [...this.#jobs.values()]) this.#reject(waiting, error);
    } else {
      this.#release(job);
      if (isOutOfMemory(error)) this.#end(job, { rejection: createRejection(job.source, TOO_MUCH_MEMORY) });
      else this.#reject(job, error);
    }
  }

  #jobOn(thread: CompilerThread): Job | undefined {
    return [...this.#jobs.values()].find(({ run }) => run?.thread === thread);
  }

  #endIdleThreads(): void {
    for (const thread of [...this.#threads].slice(IDLE_THREADS)) {
      this.#threads.delete(thread);
      void thread.terminate();
    }
  }
}

const TOO_LONG = 'takes too long to compile; simplify it';
const TOO_MUCH_MEMORY = 'needs too much memory to compile; simplify it';

const jobKey = (scope: string, key: string): string => `${scope} ${key}`;

const createRejection = (source: GrammarSource, message: string): ErrorFacts =>
  toErrorFacts(invalidValue(grammarParam(source), message));

function requireGrammar(result: CachedResult): FactoredGrammar {
  if ('grammar' in result) return result.grammar;
  throw new ApiError(result.rejection);
}
