import type { LlamaContext } from 'node-llama-cpp';
import { decode, type Sampled, type StepItem, truncate } from './native.ts';
import { pickSequence, planStep } from './schedule.ts';

/** One answer in the making, as the loop sees it. */
export interface Job {
  readonly scope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  /** It has a sequence: what it holds of the runtime it takes now, and not while it waits. */
  begin(): void;
  /** Draws a token at an index of the step just computed. */
  sample(index: number): Promise<Sampled>;
  /** True while its reader is too far behind: it is left out of the next steps. */
  paused(): boolean;
  /** The prompt is computed, but for `cachedTokens` of it. Called before the first `accept`. */
  promptEnded(cachedTokens: number): void;
  /** Takes a token. True: another one is wanted. */
  accept(sampled: Sampled): boolean;
  /** Ends the job: nothing more comes. */
  failed(error: unknown): void;
}

interface Sequence {
  readonly index: number;
  /** What its part of the context holds, and for whom. */
  tokens: number[];
  scope: string | null;
  job: Job | null;
  pending: readonly number[];
  cachedTokens: number;
  promptEnded: boolean;
}

interface StepResult {
  sequence: Sequence;
  job: Job;
  sampled: Sampled | null;
  error: unknown;
}

/** Owns the context: computes for all running jobs step by step, and lets the next ones in as sequences come free. */
export class BatchLoop {
  readonly #context: LlamaContext;
  readonly #sequences: Sequence[];
  readonly #waiting: { interactive: Job[]; batch: Job[] } = { interactive: [], batch: [] };
  #running = false;
  readonly #stepEnded: () => void;

  /** `stepEnded` is called after each step, when all its tokens were accepted. */
  constructor(context: LlamaContext, stepEnded: () => void) {
    this.#context = context;
    this.#stepEnded = stepEnded;
    this.#sequences = Array.from({ length: context.totalSequences }, (_, index) => ({
      index,
      tokens: [],
      scope: null,
      job: null,
      pending: [],
      cachedTokens: 0,
      promptEnded: false,
    }));
  }

  /** Lets a job wait for a sequence. `next`: before all others of its priority. */
  submit(job: Job, next = false): void {
    const queue = this.#waiting[job.priority];
    if (next) queue.unshift(job);
    else queue.push(job);
    this.wake();
  }

  /** Drops a job wherever it is; its sequence is free with the next step. */
  cancel(job: Job): void {
    for (const queue of [this.#waiting.interactive, this.#waiting.batch]) {
      const at = queue.indexOf(job);
      if (at >= 0) queue.splice(at, 1);
    }
    for (const sequence of this.#sequences) if (sequence.job === job) sequence.job = null;
    this.wake();
  }

  /** Jobs that hold a sequence, and jobs that wait for one. */
  counts(): { running: number; waiting: number } {
    return {
      running: this.#sequences.filter((sequence) => sequence.job !== null).length,
      waiting: this.#waiting.interactive.length + this.#waiting.batch.length,
    };
  }

  /** Goes on if there is something to do: after a submission, or when a paused job's reader has caught up. */
  wake(): void {
    if (this.#running) return;
    this.#running = true;
    // Deferred, so that requests that arrive together share their first step.
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#admit();
      const items = this.#plan();
      if (items.length === 0) {
        this.#running = false;
        return;
      }
      const results = await this.#step(items);
      for (const result of results) this.#settle(result);
      this.#stepEnded();
      // Messages from the parent (cancellations, new requests) are read between steps.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #admit(): void {
    for (;;) {
      const job = this.#waiting.interactive[0] ?? this.#waiting.batch[0];
      const free = this.#sequences.filter((sequence) => sequence.job === null);
      if (job === undefined || free.length === 0) return;
      this.#waiting[job.priority].shift();
      try {
        job.begin();
      } catch (error) {
        job.failed(error);
        continue;
      }
      const held = free.map(({ index, scope, tokens }) => ({ sequence: index, scope, tokens }));
      const picked = pickSequence(held, job.scope, job.prompt);
      const sequence = this.#sequences[picked?.sequence ?? 0];
      if (sequence !== undefined) this.#seat(job, sequence, picked?.reused ?? 0);
    }
  }

  #seat(job: Job, sequence: Sequence, reused: number): void {
    const kept = truncate(this.#context, sequence.index, reused) ? reused : 0;
    sequence.tokens.length = kept;
    sequence.scope = job.scope;
    sequence.job = job;
    sequence.pending = job.prompt.slice(kept);
    sequence.cachedTokens = kept;
    sequence.promptEnded = false;
  }

  #plan(): { sequence: Sequence; job: Job; item: StepItem }[] {
    const active = this.#sequences.flatMap((sequence) =>
      sequence.job === null || sequence.job.paused() ? [] : [{ sequence, job: sequence.job }],
    );
    const loads = active.map(({ sequence, job }) => ({
      sequence: sequence.index,
      tokens: sequence.pending.length,
      priority: job.priority,
    }));
    return planStep(loads).flatMap((share) => {
      const found = active.find(({ sequence }) => sequence.index === share.sequence);
      if (found === undefined) return [];
      const { sequence, job } = found;
      const tokens = sequence.pending.slice(0, share.tokens);
      const sampled = share.tokens === sequence.pending.length;
      return [{ sequence, job, item: { sequence: sequence.index, position: sequence.tokens.length, tokens, sampled } }];
    });
  }

  async #step(planned: { sequence: Sequence; job: Job; item: StepItem }[]): Promise<StepResult[]> {
    let indices: number[];
    try {
      indices = await decode(
        this.#context,
        planned.map(({ item }) => item),
      );
    } catch (error) {
      // What the sequences hold now is not known: they start afresh.
      for (const { sequence } of planned) {
        truncate(this.#context, sequence.index, 0);
        sequence.tokens = [];
      }
      return planned.map(({ sequence, job }) => ({ sequence, job, sampled: null, error }));
    }
    return Promise.all(
      planned.map(async ({ sequence, job, item }, i) => {
        for (const token of item.tokens) sequence.tokens.push(token);
        sequence.pending = sequence.pending.slice(item.tokens.length);
        // A job that was cancelled meanwhile is not worth a sample.
        if (!item.sampled || sequence.job !== job) return { sequence, job, sampled: null, error: null };
        try {
          return { sequence, job, sampled: await job.sample(indices[i] ?? -1), error: null };
        } catch (error) {
          return { sequence, job, sampled: null, error };
        }
      }),
    );
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
      if (job.accept(sampled)) sequence.pending = [sampled.token];
      else sequence.job = null;
    } catch (failure) {
      sequence.job = null;
      job.failed(failure);
    }
  }
}
