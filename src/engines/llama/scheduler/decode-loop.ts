import { MAX_SAMPLING_COST } from '../constraints/decoding-constraint.ts';
import { grownSlots, INITIAL_SLOTS } from '../kv-cache/kv-context.ts';
import type { PrefixLookup, Slot, SlotJob, SlotPool } from '../kv-cache/slot-pool.ts';
import { shouldWait } from '../kv-cache/slot-selection.ts';
import { decode, type Sampled, type StepItem } from '../runtime/bindings.ts';
import type { DecodeJob } from './decode-job.ts';
import { admissionOrder, overSamplingBudget, planStep, type StepLimits, selectPreempted } from './scheduler.ts';

/** Queued jobs considered in one admission round: each lookup costs time in proportion to its prompt. */
const MAX_ADMISSION_CANDIDATES = 32;
/** Tokens per step of a prompt whose log probabilities are wanted: llama.cpp keeps the logits of all of them. */
const MAX_SCORED_TOKENS = 32;
/** No further job is admitted before the next step after so long: loading a large grammar takes 20 ms. */
const ADMISSION_TIME_MS = 10;
/** Idle time before snapshots are written, so that none is written between the requests of a burst. */
const SNAPSHOT_DELAY_MS = 50;
/** Time without concurrent jobs after which slots that were allocated on demand are freed. */
export const SLOT_IDLE_MS = 60_000;

interface QueuedJob {
  job: DecodeJob;
  /** A job that has lost its slot continues here; null: it has not begun. */
  resumed: Progress | null;
  scope: string;
  priority: DecodeJob['priority'];
  since: number;
}

/** Progress of a job that has lost its slot. */
interface Progress extends Pick<Slot<DecodeJob>, 'promptEnded' | 'cachedTokens'> {
  /** Everything that it has computed, or was about to compute. */
  what: SlotJob;
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

/** Observes a decode loop. */
export interface DecodeLoopListener {
  /** A step ended, and its tokens were accepted. */
  stepEnded(): void;
  /** There are no jobs, and all snapshots are written. */
  idle(): void;
}

/** Settings of a decode loop. */
export interface DecodeLoopOptions {
  limits: StepLimits;
  /** See `SLOT_IDLE_MS`. */
  slotIdleMs?: number | undefined;
  listener: DecodeLoopListener;
}

/** Continuous batching: computes one step for all running jobs at a time, and admits queued jobs between steps. */
export class DecodeLoop {
  readonly #slots: SlotPool<DecodeJob>;
  readonly #limits: StepLimits;
  readonly #slotIdleMs: number;
  readonly #listener: DecodeLoopListener;
  #waiting: QueuedJob[] = [];
  /** Number of the last admission of each scope; emptied when no job waits. */
  readonly #admittedAt = new Map<string, number>();
  #admissions = 0;
  #running = false;
  #closed = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(slots: SlotPool<DecodeJob>, { limits, slotIdleMs = SLOT_IDLE_MS, listener }: DecodeLoopOptions) {
    this.#slots = slots;
    this.#limits = limits;
    this.#slotIdleMs = slotIdleMs;
    this.#listener = listener;
  }

  /** Queues a job. */
  submit(job: DecodeJob): void {
    const { scope, priority } = job;
    this.#waiting.push({ job, resumed: null, scope, priority, since: performance.now() });
    this.wake();
  }

  /** Removes a job from the queue or from its slot, which is free for the next step. */
  cancel(job: DecodeJob): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.job !== job);
    for (const slot of this.#slots.all) if (slot.job === job) this.#slots.release(slot);
    this.wake();
  }

  /** Jobs that have a slot, jobs that wait for one, and slots that are allocated. */
  counts(): { running: number; waiting: number; slots: number } {
    return { running: this.#runningJobs().length, waiting: this.#waiting.length, slots: this.#slots.all.length };
  }

  /** Resumes the loop after a submission, or when the reader of a paused job has caught up. */
  wake(): void {
    if (this.#running || this.#closed) return;
    this.#running = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    // Deferred, so that requests that arrive together share their first step.
    setImmediate(() => void this.#run());
  }

  /** Stops the loop. Resolves when no step is being computed. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running) await yieldToEventLoop();
  }

  /**
   * Delivers the results of a step while the next one is computed on another thread. A completion that turns out to
   * have ended then had one token computed in vain, and no other job lost time.
   */
  async #run(): Promise<void> {
    let results: StepResult[] = [];
    for (;;) {
      await this.#growSlots();
      if (this.#selectPreempted() !== null) {
        // The results may contain the last token of the preempted generation.
        this.#deliverAll(results.splice(0));
        this.#preempt();
      }
      const isAdmitting = await this.#admit();
      const planned = this.#closed ? [] : this.#plan();
      const step = planned.length === 0 ? null : this.#compute(planned);
      this.#deliverAll(results);
      if (step === null && results.length === 0 && !isAdmitting) break;
      results = step === null ? [] : await this.#sampleAll(planned, await step);
    }
    this.#running = false;
    if (!this.#closed) this.#idleTimer ??= setTimeout(() => void this.#runIdle(), SNAPSHOT_DELAY_MS);
  }

  /** Writes one snapshot at a time: a new request waits for one at most. Then frees slots that are not needed. */
  async #runIdle(): Promise<void> {
    this.#idleTimer = null;
    if (this.#running || this.#closed) return;
    this.#running = true;
    const more = await this.#slots.saveNextSnapshot();
    const isIdle = !more && this.#runningJobs().length === 0;
    let shrinkMs = isIdle ? this.#slots.shrinkDelay(this.#slotIdleMs, INITIAL_SLOTS) : null;
    if (shrinkMs === 0 && this.#waiting.length === 0) {
      await this.#slots.resize(INITIAL_SLOTS);
      shrinkMs = this.#slots.shrinkDelay(this.#slotIdleMs, INITIAL_SLOTS);
    }
    this.#running = false;
    if (!more) this.#listener.idle();
    // Jobs that arrived in the meantime did not wake the loop.
    if (more || this.#waiting.length > 0) this.wake();
    else if (shrinkMs !== null) this.#idleTimer ??= setTimeout(() => void this.#runIdle(), shrinkMs + 1);
  }

  #runningJobs(): DecodeJob[] {
    return this.#slots.all.flatMap(({ job }) => (job === null ? [] : [job]));
  }

  /** Allocates more slots when jobs wait for one. */
  async #growSlots(): Promise<void> {
    const running = this.#runningJobs();
    if (this.#closed || running.length < this.#slots.all.length || !this.#slots.canGrow) return;
    const admissible = this.#admissionOrder(running).length;
    if (admissible === 0) return;
    await this.#slots.resize(grownSlots(running.length, running.length + admissible, this.#slots.capacity));
  }

  /** The slot whose job gives way to a queued one; null when there is none. */
  #selectPreempted(): Slot<DecodeJob> | null {
    if (this.#closed || this.#waiting.length === 0 || this.#slots.all.some(({ job }) => job === null)) return null;
    const now = performance.now();
    const running = this.#slots.all.map(({ job, tokens, promptEnded, since }) => ({
      scope: job?.scope ?? '',
      priority: job?.priority ?? 'batch',
      isPaused: job?.isPaused() === true,
      ranMs: now - since,
      // Log probabilities of a part of a prompt cannot be continued.
      resumeMs: job?.reusesPrefix || promptEnded ? this.#slots.prefillMilliseconds(tokens.length) : null,
    }));
    const ready = this.#waiting.filter(({ job }) => !job.isPaused());
    const index = selectPreempted(ready, running);
    return index === null ? null : (this.#slots.all[index] ?? null);
  }

  /** Takes the slot of a running job, which becomes the first in the queue. */
  #preempt(): void {
    const slot = this.#selectPreempted();
    if (slot === null || slot.job === null) return;
    const { job, tokens, pending, offset, promptEnded, cachedTokens } = slot;
    const prompt = [...tokens, ...pending.slice(offset)];
    const resumed = { promptEnded, cachedTokens, what: { prompt, cacheScope: job.cacheScope, reusesPrefix: true } };
    this.#slots.release(slot);
    const { scope, priority } = job;
    this.#waiting.unshift({ job, resumed, scope, priority, since: performance.now() });
  }

  /** Admits queued jobs. True when it stopped for the next step although more may be admitted. */
  async #admit(): Promise<boolean> {
    const started = performance.now();
    for (let next = this.#nextJob(); next !== null; next = this.#nextJob()) {
      const { job, resumed, lookup } = next;
      this.#waiting = this.#waiting.filter((waiting) => waiting.job !== job);
      this.#admissions += 1;
      this.#admittedAt.set(job.scope, this.#admissions);
      try {
        const slot = await this.#slots.acquire(job, lookup, resumed?.what);
        // The job may have been cancelled while its prefix was loaded.
        if (slot.job !== job) this.#slots.release(slot);
        else if (resumed === null) job.begin();
        else Object.assign(slot, { promptEnded: resumed.promptEnded, cachedTokens: resumed.cachedTokens });
      } catch (error) {
        this.#end(job);
        job.failed(error);
      }
      if (performance.now() - started > ADMISSION_TIME_MS) return true;
    }
    if (this.#waiting.length === 0) this.#admittedAt.clear();
    return false;
  }

  /** The next job that can be admitted, with its cached prefixes; null when there is none. */
  #nextJob(): (Pick<QueuedJob, 'job' | 'resumed'> & { lookup: PrefixLookup }) | null {
    const running = this.#runningJobs();
    if (this.#waiting.length === 0 || running.length === this.#slots.all.length) return null;
    const order = this.#admissionOrder(running);
    // A preempted job whose reader lags behind would only hold a slot.
    const candidates = order.filter((index) => this.#waiting[index]?.job.isPaused() === false);
    for (const index of candidates.slice(0, MAX_ADMISSION_CANDIDATES)) {
      const next = this.#waiting[index];
      if (next === undefined) continue;
      const { job, resumed } = next;
      const lookup = this.#slots.lookup(resumed?.what ?? job);
      if (!shouldWait(lookup.computedTokens, lookup.upcomingTokens)) return { job, resumed, lookup };
    }
    return null;
  }

  #admissionOrder(running: readonly DecodeJob[]): number[] {
    const state = { slots: this.#slots.capacity, now: performance.now(), admittedAt: this.#admittedAt };
    return admissionOrder(this.#waiting, running, state);
  }

  #plan(): PlannedItem[] {
    const ready = this.#slots.all.flatMap((slot) =>
      slot.job === null || slot.job.isPaused() ? [] : [{ slot, job: slot.job }],
    );
    const constrained = ready.flatMap(({ slot, job }) =>
      job.samplingCost() > 0 ? [{ slot: slot.index, cost: job.samplingCost(), waitedSteps: slot.waitedSteps }] : [],
    );
    const postponed = overSamplingBudget(constrained, MAX_SAMPLING_COST);
    for (const { slot } of ready) if (postponed.has(slot.index)) slot.waitedSteps += 1;
    const active = ready.filter(({ slot }) => !postponed.has(slot.index));
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
    const isScored = !job.reusesPrefix && !slot.promptEnded;
    const count = isScored ? Math.min(share, MAX_SCORED_TOKENS) : share;
    const tokens = pending.slice(offset, offset + count);
    const isLast = offset + count === pending.length;
    const outputs = isScored ? tokens.map((_, i) => i) : isLast ? [count - 1] : [];
    return { slot, job, item: { slot: slot.index, position: slot.tokens.length, tokens, outputs } };
  }

  /** Resolves with the indices to sample at, or with an error. Never rejects: it is awaited only after other work. */
  async #compute(planned: readonly PlannedItem[]): Promise<{ indices: Uint32Array[] } | { error: unknown }> {
    const items = planned.map(({ item }) => item);
    const isDecoding = ({ slot, item }: PlannedItem) => slot.promptEnded && item.tokens.length === 1;
    const decoding = planned.filter(isDecoding).map(({ slot }) => slot.index);
    const tokens = items.reduce((sum, item) => sum + item.tokens.length, 0);
    const started = performance.now();
    try {
      const indices = await decode(this.#slots.context, items);
      const promptTokens = tokens - decoding.length;
      this.#slots.recordStep(performance.now() - started, { decoding, promptTokens });
      return { indices };
    } catch (error) {
      return { error };
    }
  }

  async #sampleAll(
    planned: readonly PlannedItem[],
    step: { indices: Uint32Array[] } | { error: unknown },
  ): Promise<StepResult[]> {
    if ('indices' in step) {
      const { indices } = step;
      return Promise.all(planned.map((each, i) => this.#sample(each, indices[i] ?? new Uint32Array(0))));
    }
    // After a failed decode the content of these slots is unknown.
    for (const { slot } of planned) this.#slots.clear(slot);
    return planned.map(({ slot, job }) => ({ slot, job, sampled: null, error: step.error }));
  }

  async #sample({ slot, job, item }: PlannedItem, indices: Uint32Array): Promise<StepResult> {
    for (const token of item.tokens) slot.tokens.push(token);
    // The job was cancelled: no token is sampled, and its computed prefix stays cached.
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

  #deliverAll(results: readonly StepResult[]): void {
    for (const result of results) this.#deliver(result);
    if (results.length > 0) this.#listener.stepEnded();
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
      // `promptEnded` may have cancelled the job.
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
