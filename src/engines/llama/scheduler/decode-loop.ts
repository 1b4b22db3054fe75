import type { LlamaContext } from 'node-llama-cpp';
import { MAX_SAMPLING_COST } from '../constraints/decoding-constraint.ts';
import { shouldWait } from '../kv-cache/slot-selection.ts';
import type { Sequence, Sequences } from '../kv-cache/slots.ts';
import { decode, type Sampled, type StepItem } from '../runtime/bindings.ts';
import { admissionOrder, overSamplingBudget, planStep, type StepLimits } from './scheduler.ts';

/** Waiting jobs that are looked at in one round, for each costs as much as its prompt is long. */
const LOOKED_AT = 32;
/** Tokens of a step for a prompt whose every token is judged: the runtime keeps a whole vocabulary for each. */
const JUDGED_TOKENS = 32;
/** Time after which no further job begins before the next step: a large grammar takes 20 ms to load, for each answer. */
const BEGINNING_MS = 10;
/** Quiet time after which what is computed is saved: not between the requests of a burst. */
const QUIET_MS = 50;

/** One answer in the making, as the loop sees it. */
export interface Job {
  readonly scope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  /** False: the whole prompt is computed, and each of its tokens but the first goes through `judge`. */
  readonly reuses: boolean;
  /** It has a sequence: what it holds of the runtime it takes now, and not while it waits. */
  begin(): void;
  /** Notes how likely the next token of the prompt was, at an index of the step just computed. */
  judge(index: number, token: number): Promise<void>;
  /** Draws a token at an index of the step just computed. */
  sample(index: number): Promise<Sampled>;
  /** What the next sampling costs, in the unit of `MAX_SAMPLING_COST`; 0 where no grammar is followed. */
  samplingCost(): number;
  /** True while its reader is too far behind: it is left out of the next steps. */
  paused(): boolean;
  /** The prompt is computed, but for `cachedTokens` of it. Called before the first `accept`. */
  promptEnded(cachedTokens: number): void;
  /** Whether another token may be wanted after this one, as far as can be told at once. */
  goesOnAfter(token: number): boolean;
  /** Takes a token. True: another one is wanted, which is so only where `goesOnAfter` said so. */
  accept(sampled: Sampled): boolean;
  /** Ends the job: nothing more comes. */
  failed(error: unknown): void;
}

interface Waiting {
  job: Job;
  scope: string;
  priority: Job['priority'];
  since: number;
}

interface Planned {
  sequence: Sequence<Job>;
  job: Job;
  item: StepItem;
}

interface StepResult {
  sequence: Sequence<Job>;
  job: Job;
  sampled: Sampled | null;
  error: unknown;
}

/** Who hears of the loop. */
export interface LoopListener {
  /** After each step, when all its tokens were accepted. */
  stepEnded(): void;
  /** There is nothing to do, and what was to be saved is. */
  quiet(): void;
}

/** Computes for all running jobs step by step, and lets the next ones in as sequences come free. */
export class BatchLoop {
  readonly #context: LlamaContext;
  readonly #sequences: Sequences<Job>;
  readonly #limits: StepLimits;
  readonly #listener: LoopListener;
  #waiting: Waiting[] = [];
  #running = false;
  #closed = false;
  #quietTimer: NodeJS.Timeout | null = null;

  constructor(context: LlamaContext, sequences: Sequences<Job>, limits: StepLimits, listener: LoopListener) {
    this.#context = context;
    this.#sequences = sequences;
    this.#limits = limits;
    this.#listener = listener;
  }

  /** Lets a job wait for a sequence. */
  submit(job: Job): void {
    const { scope, priority } = job;
    this.#waiting.push({ job, scope, priority, since: performance.now() });
    this.wake();
  }

  /** Drops a job wherever it is; its sequence is free with the next step. */
  cancel(job: Job): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.job !== job);
    for (const sequence of this.#sequences.all) if (sequence.job === job) this.#sequences.release(sequence);
    this.wake();
  }

  /** Jobs that hold a sequence, and jobs that wait for one. */
  counts(): { running: number; waiting: number } {
    const running = this.#sequences.all.filter((sequence) => sequence.job !== null).length;
    return { running, waiting: this.#waiting.length };
  }

  /** Goes on if there is something to do: after a submission, or when a paused job's reader has caught up. */
  wake(): void {
    if (this.#running || this.#closed) return;
    this.#running = true;
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    this.#quietTimer = null;
    // Deferred, so that requests that arrive together share their first step.
    setImmediate(() => void this.#run());
  }

  /** Starts nothing new. Resolves when no step is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running) await nextTurn();
  }

  /**
   * While a step is computed on another thread, this one tells what the step before gave, and reads what the parent
   * says: an answer that turns out to be over has then had one token computed in vain, and all others no time lost.
   */
  async #run(): Promise<void> {
    let results: readonly StepResult[] = [];
    for (;;) {
      const isAdmitting = await this.#admit();
      const planned = this.#closed ? [] : this.#plan();
      const computed = planned.length === 0 ? null : this.#compute(planned);
      for (const result of results) this.#settle(result);
      if (results.length > 0) this.#listener.stepEnded();
      if (computed === null && results.length === 0 && !isAdmitting) break;
      results = computed === null ? [] : await this.#sampleAll(planned, await computed);
    }
    this.#running = false;
    if (!this.#closed) this.#quietTimer ??= setTimeout(() => void this.#saveOne(), QUIET_MS);
  }

  /** Saves what is not saved, a sequence at a time, so that a request that arrives waits for one at most. */
  async #saveOne(): Promise<void> {
    this.#quietTimer = null;
    if (this.#running || this.#closed) return;
    this.#running = true;
    const more = await this.#sequences.saveOne();
    this.#running = false;
    if (!more) this.#listener.quiet();
    // Whoever came meanwhile found it running.
    if (more || this.#waiting.length > 0) this.wake();
  }

  /** Lets waiting jobs begin. True: it stopped for this step, and more of them may begin. */
  async #admit(): Promise<boolean> {
    const started = performance.now();
    for (let job = this.#nextJob(); job !== null; job = this.#nextJob()) {
      const taken = job;
      this.#waiting = this.#waiting.filter((waiting) => waiting.job !== taken.job);
      try {
        const sequence = await this.#sequences.seat(taken.job, taken.look);
        // It may have been cancelled while its prefix was brought.
        if (sequence.job === taken.job) taken.job.begin();
        else this.#sequences.release(sequence);
      } catch (error) {
        this.#end(taken.job);
        taken.job.failed(error);
      }
      if (performance.now() - started > BEGINNING_MS) return true;
    }
    return false;
  }

  /** The next job that may begin now, with what is computed of its prompt; null where none can. */
  #nextJob(): { job: Job; look: ReturnType<Sequences<Job>['look']> } | null {
    if (this.#waiting.length === 0 || this.#sequences.all.every((sequence) => sequence.job !== null)) return null;
    const running = this.#sequences.all.flatMap(({ job }) => (job === null ? [] : [job]));
    const order = admissionOrder(this.#waiting, running, this.#sequences.all.length, performance.now());
    for (const index of order.slice(0, LOOKED_AT)) {
      const job = this.#waiting[index]?.job;
      if (job === undefined) continue;
      const look = this.#sequences.look(job);
      if (!shouldWait(look.computed, look.coming)) return { job, look };
    }
    return null;
  }

  #plan(): Planned[] {
    const ready = this.#sequences.all.flatMap((sequence) =>
      sequence.job === null || sequence.job.paused() ? [] : [{ sequence, job: sequence.job }],
    );
    const constrained = ready.flatMap(({ sequence, job }) =>
      job.samplingCost() > 0 ? [{ sequence: sequence.index, cost: job.samplingCost(), waited: sequence.waited }] : [],
    );
    const costly = overSamplingBudget(constrained, MAX_SAMPLING_COST);
    for (const { sequence } of ready) if (costly.has(sequence.index)) sequence.waited += 1;
    const active = ready.filter(({ sequence }) => !costly.has(sequence.index));
    const loads = active.map(({ sequence, job }) => ({
      sequence: sequence.index,
      tokens: sequence.pending.length - sequence.offset,
      priority: job.priority,
      waited: sequence.waited,
    }));
    const shares = new Map(planStep(loads, this.#limits).map(({ sequence, tokens }) => [sequence, tokens]));
    return active.flatMap(({ sequence, job }) => {
      const share = shares.get(sequence.index) ?? 0;
      sequence.waited = share > 0 ? 0 : sequence.waited + 1;
      return share > 0 ? [this.#plannedFor(sequence, job, share)] : [];
    });
  }

  #plannedFor(sequence: Sequence<Job>, job: Job, share: number): Planned {
    const { pending, offset } = sequence;
    const judged = !job.reuses && !sequence.promptEnded;
    const count = judged ? Math.min(share, JUDGED_TOKENS) : share;
    const tokens = pending.slice(offset, offset + count);
    const isLast = offset + count === pending.length;
    const outputs = judged ? tokens.map((_, i) => i) : isLast ? [count - 1] : [];
    return { sequence, job, item: { sequence: sequence.index, position: sequence.tokens.length, tokens, outputs } };
  }

  /** Resolves with where to sample, or with what went wrong. Never rejects, for nobody may be waiting yet. */
  async #compute(planned: readonly Planned[]): Promise<{ indices: Uint32Array[] } | { error: unknown }> {
    const items = planned.map(({ item }) => item);
    const answers = planned.filter(({ sequence }) => sequence.promptEnded).map(({ sequence }) => sequence.index);
    const tokens = items.reduce((sum, item) => sum + item.tokens.length, 0);
    const started = performance.now();
    try {
      const indices = await decode(this.#context, items);
      const promptTokens = tokens - answers.length;
      this.#sequences.stepped(performance.now() - started, { answers, promptTokens });
      return { indices };
    } catch (error) {
      return { error };
    }
  }

  async #sampleAll(
    planned: readonly Planned[],
    computed: { indices: Uint32Array[] } | { error: unknown },
  ): Promise<StepResult[]> {
    if ('indices' in computed) {
      const { indices } = computed;
      return Promise.all(planned.map((each, i) => this.#sample(each, indices[i] ?? new Uint32Array(0))));
    }
    // What the sequences hold now is not known: they start afresh.
    for (const { sequence } of planned) this.#sequences.clear(sequence);
    return planned.map(({ sequence, job }) => ({ sequence, job, sampled: null, error: computed.error }));
  }

  async #sample({ sequence, job, item }: Planned, indices: Uint32Array): Promise<StepResult> {
    for (const token of item.tokens) sequence.tokens.push(token);
    // A job that was cancelled meanwhile is not worth a sample; what was computed for it is there for others.
    if (sequence.job !== job) {
      if (sequence.job === null) this.#sequences.release(sequence);
      return { sequence, job, sampled: null, error: null };
    }
    const from = sequence.offset;
    sequence.offset += item.tokens.length;
    const isLast = sequence.offset === sequence.pending.length;
    try {
      for (const [i, output] of item.outputs.entries()) {
        const next = sequence.pending[from + output + 1];
        if (next !== undefined) await job.judge(indices[i] ?? 0, next);
      }
      const last = indices.at(-1);
      const sampled = isLast && last !== undefined ? await job.sample(last) : null;
      if (sampled !== null && job.goesOnAfter(sampled.token)) {
        sequence.pending = [sampled.token];
        sequence.offset = 0;
      }
      return { sequence, job, sampled, error: null };
    } catch (error) {
      return { sequence, job, sampled: null, error };
    }
  }

  #settle({ sequence, job, sampled, error }: StepResult): void {
    if (sequence.job !== job) return;
    try {
      if (error !== null) throw error;
      if (sampled === null) return;
      if (!sequence.promptEnded) {
        sequence.promptEnded = true;
        job.promptEnded(sequence.cachedTokens);
      }
      // The listener may have cancelled it while it was told.
      if (sequence.job !== job) return;
      if (!job.accept(sampled)) this.#end(job);
    } catch (failure) {
      this.#end(job);
      job.failed(failure);
    }
  }

  #end(job: Job): void {
    for (const sequence of this.#sequences.all) if (sequence.job === job) this.#sequences.release(sequence);
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
