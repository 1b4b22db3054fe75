import type { LlamaContext } from 'node-llama-cpp';
import { MAX_SAMPLING_COST } from '../constraints/decoding-constraint.ts';
import type { Slot, SlotPool } from '../kv-cache/slot-pool.ts';
import { shouldWait } from '../kv-cache/slot-selection.ts';
import { decode, type Sampled, type StepItem } from '../runtime/bindings.ts';
import { admissionOrder, overSamplingBudget, planStep, type StepLimits } from './scheduler.ts';

/** Waiting jobs that are looked at in one round, for each costs as much as its prompt is long. */
const MAX_ADMISSION_CANDIDATES = 32;
/** Tokens of a step for a prompt whose every token is judged: the runtime keeps a whole vocabulary for each. */
const MAX_SCORED_TOKENS = 32;
/** Time after which no further job begins before the next step: a large grammar takes 20 ms to load, for each answer. */
const ADMISSION_TIME_MS = 10;
/** Quiet time after which what is computed is saved: not between the requests of a burst. */
const SNAPSHOT_DELAY_MS = 50;

/** One answer in the making, as the loop sees it. */
export interface DecodeJob {
  readonly scope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  /** False: the whole prompt is computed, and each of its tokens but the first goes through `judge`. */
  readonly reusesPrefix: boolean;
  /** It has a sequence: what it holds of the runtime it takes now, and not while it waits. */
  begin(): void;
  /** Notes how likely the next token of the prompt was, at an index of the step just computed. */
  scorePromptToken(index: number, token: number): Promise<void>;
  /** Draws a token at an index of the step just computed. */
  sample(index: number): Promise<Sampled>;
  /** What the next sampling costs, in the unit of `MAX_SAMPLING_COST`; 0 where no grammar is followed. */
  samplingCost(): number;
  /** True while its reader is too far behind: it is left out of the next steps. */
  isPaused(): boolean;
  /** The prompt is computed, but for `cachedTokens` of it. Called before the first `accept`. */
  promptEnded(cachedTokens: number): void;
  /** Whether another token may be wanted after this one, as far as can be told at once. */
  continuesAfter(token: number): boolean;
  /** Takes a token. True: another one is wanted, which is so only where `continuesAfter` said so. */
  accept(sampled: Sampled): boolean;
  /** Ends the job: nothing more comes. */
  failed(error: unknown): void;
}

interface QueuedJob {
  job: DecodeJob;
  scope: string;
  priority: DecodeJob['priority'];
  since: number;
}

interface PlannedItem {
  slot: Slot<DecodeJob>;
  job: DecodeJob;
  item: StepItem;
}

interface StepResult {
  slot: Slot<DecodeJob>;
  job: DecodeJob;
  sampled: Sampled | null;
  error: unknown;
}

/** Who hears of the loop. */
export interface DecodeLoopListener {
  /** After each step, when all its tokens were accepted. */
  stepEnded(): void;
  /** There is nothing to do, and what was to be saved is. */
  idle(): void;
}

/** Computes for all running jobs step by step, and lets the next ones in as sequences come free. */
export class DecodeLoop {
  readonly #context: LlamaContext;
  readonly #slots: SlotPool<DecodeJob>;
  readonly #limits: StepLimits;
  readonly #listener: DecodeLoopListener;
  #waiting: QueuedJob[] = [];
  #running = false;
  #closed = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(context: LlamaContext, slots: SlotPool<DecodeJob>, limits: StepLimits, listener: DecodeLoopListener) {
    this.#context = context;
    this.#slots = slots;
    this.#limits = limits;
    this.#listener = listener;
  }

  /** Lets a job wait for a sequence. */
  submit(job: DecodeJob): void {
    const { scope, priority } = job;
    this.#waiting.push({ job, scope, priority, since: performance.now() });
    this.wake();
  }

  /** Drops a job wherever it is; its sequence is free with the next step. */
  cancel(job: DecodeJob): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.job !== job);
    for (const slot of this.#slots.all) if (slot.job === job) this.#slots.release(slot);
    this.wake();
  }

  /** Jobs that hold a sequence, and jobs that wait for one. */
  counts(): { running: number; waiting: number } {
    const running = this.#slots.all.filter((slot) => slot.job !== null).length;
    return { running, waiting: this.#waiting.length };
  }

  /** Goes on if there is something to do: after a submission, or when a paused job's reader has caught up. */
  wake(): void {
    if (this.#running || this.#closed) return;
    this.#running = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    // Deferred, so that requests that arrive together share their first step.
    setImmediate(() => void this.#run());
  }

  /** Starts nothing new. Resolves when no step is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running) await yieldToEventLoop();
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
      const computedTokens = planned.length === 0 ? null : this.#compute(planned);
      for (const result of results) this.#deliver(result);
      if (results.length > 0) this.#listener.stepEnded();
      if (computedTokens === null && results.length === 0 && !isAdmitting) break;
      results = computedTokens === null ? [] : await this.#sampleAll(planned, await computedTokens);
    }
    this.#running = false;
    if (!this.#closed) this.#idleTimer ??= setTimeout(() => void this.#saveIdleSlot(), SNAPSHOT_DELAY_MS);
  }

  /** Saves what is not saved, a sequence at a time, so that a request that arrives waits for one at most. */
  async #saveIdleSlot(): Promise<void> {
    this.#idleTimer = null;
    if (this.#running || this.#closed) return;
    this.#running = true;
    const more = await this.#slots.saveNextSnapshot();
    this.#running = false;
    if (!more) this.#listener.idle();
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
        const slot = await this.#slots.acquire(taken.job, taken.lookup);
        // It may have been cancelled while its prefix was brought.
        if (slot.job === taken.job) taken.job.begin();
        else this.#slots.release(slot);
      } catch (error) {
        this.#end(taken.job);
        taken.job.failed(error);
      }
      if (performance.now() - started > ADMISSION_TIME_MS) return true;
    }
    return false;
  }

  /** The next job that may begin now, with what is computed of its prompt; null where none can. */
  #nextJob(): { job: DecodeJob; lookup: ReturnType<SlotPool<DecodeJob>['lookup']> } | null {
    if (this.#waiting.length === 0 || this.#slots.all.every((slot) => slot.job !== null)) return null;
    const running = this.#slots.all.flatMap(({ job }) => (job === null ? [] : [job]));
    const order = admissionOrder(this.#waiting, running, this.#slots.all.length, performance.now());
    for (const index of order.slice(0, MAX_ADMISSION_CANDIDATES)) {
      const job = this.#waiting[index]?.job;
      if (job === undefined) continue;
      const lookup = this.#slots.lookup(job);
      if (!shouldWait(lookup.computedTokens, lookup.upcomingTokens)) return { job, lookup };
    }
    return null;
  }

  #plan(): PlannedItem[] {
    const ready = this.#slots.all.flatMap((slot) =>
      slot.job === null || slot.job.isPaused() ? [] : [{ slot, job: slot.job }],
    );
    const constrained = ready.flatMap(({ slot, job }) =>
      job.samplingCost() > 0 ? [{ slot: slot.index, cost: job.samplingCost(), waitedSteps: slot.waitedSteps }] : [],
    );
    const costly = overSamplingBudget(constrained, MAX_SAMPLING_COST);
    for (const { slot } of ready) if (costly.has(slot.index)) slot.waitedSteps += 1;
    const active = ready.filter(({ slot }) => !costly.has(slot.index));
    const loads = active.map(({ slot, job }) => ({
      slot: slot.index,
      tokens: slot.pending.length - slot.offset,
      priority: job.priority,
      waitedSteps: slot.waitedSteps,
    }));
    const shares = new Map(planStep(loads, this.#limits).map(({ slot, tokens }) => [slot, tokens]));
    return active.flatMap(({ slot, job }) => {
      const share = shares.get(slot.index) ?? 0;
      slot.waitedSteps = share > 0 ? 0 : slot.waitedSteps + 1;
      return share > 0 ? [this.#planItem(slot, job, share)] : [];
    });
  }

  #planItem(slot: Slot<DecodeJob>, job: DecodeJob, share: number): PlannedItem {
    const { pending, offset } = slot;
    const promptLogprobs = !job.reusesPrefix && !slot.promptEnded;
    const count = promptLogprobs ? Math.min(share, MAX_SCORED_TOKENS) : share;
    const tokens = pending.slice(offset, offset + count);
    const isLast = offset + count === pending.length;
    const outputs = promptLogprobs ? tokens.map((_, i) => i) : isLast ? [count - 1] : [];
    return { slot, job, item: { slot: slot.index, position: slot.tokens.length, tokens, outputs } };
  }

  /** Resolves with where to sample, or with what went wrong. Never rejects, for nobody may be waiting yet. */
  async #compute(planned: readonly PlannedItem[]): Promise<{ indices: Uint32Array[] } | { error: unknown }> {
    const items = planned.map(({ item }) => item);
    const answers = planned.filter(({ slot }) => slot.promptEnded).map(({ slot }) => slot.index);
    const tokens = items.reduce((sum, item) => sum + item.tokens.length, 0);
    const started = performance.now();
    try {
      const indices = await decode(this.#context, items);
      const promptTokens = tokens - answers.length;
      this.#slots.recordStep(performance.now() - started, { answers, promptTokens });
      return { indices };
    } catch (error) {
      return { error };
    }
  }

  async #sampleAll(
    planned: readonly PlannedItem[],
    computedTokens: { indices: Uint32Array[] } | { error: unknown },
  ): Promise<StepResult[]> {
    if ('indices' in computedTokens) {
      const { indices } = computedTokens;
      return Promise.all(planned.map((each, i) => this.#sample(each, indices[i] ?? new Uint32Array(0))));
    }
    // What the sequences hold now is not known: they start afresh.
    for (const { slot } of planned) this.#slots.clear(slot);
    return planned.map(({ slot, job }) => ({ slot, job, sampled: null, error: computedTokens.error }));
  }

  async #sample({ slot, job, item }: PlannedItem, indices: Uint32Array): Promise<StepResult> {
    for (const token of item.tokens) slot.tokens.push(token);
    // A job that was cancelled meanwhile is not worth a sample; what was computed for it is there for others.
    if (slot.job !== job) {
      if (slot.job === null) this.#slots.release(slot);
      return { slot, job, sampled: null, error: null };
    }
    const from = slot.offset;
    slot.offset += item.tokens.length;
    const isLast = slot.offset === slot.pending.length;
    try {
      for (const [i, output] of item.outputs.entries()) {
        const next = slot.pending[from + output + 1];
        if (next !== undefined) await job.scorePromptToken(indices[i] ?? 0, next);
      }
      const last = indices.at(-1);
      const sampled = isLast && last !== undefined ? await job.sample(last) : null;
      if (sampled !== null && job.continuesAfter(sampled.token)) {
        slot.pending = [sampled.token];
        slot.offset = 0;
      }
      return { slot, job, sampled, error: null };
    } catch (error) {
      return { slot, job, sampled: null, error };
    }
  }

  #deliver({ slot, job, sampled, error }: StepResult): void {
    if (slot.job !== job) return;
    try {
      if (error !== null) throw error;
      if (sampled === null) return;
      if (!slot.promptEnded) {
        slot.promptEnded = true;
        job.promptEnded(slot.cachedTokens);
      }
      // The listener may have cancelled it while it was told.
      if (slot.job !== job) return;
      if (!job.accept(sampled)) this.#end(job);
    } catch (failure) {
      this.#end(job);
      job.failed(failure);
    }
  }

  #end(job: DecodeJob): void {
    for (const slot of this.#slots.all) if (slot.job === job) this.#slots.release(slot);
  }
}

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
