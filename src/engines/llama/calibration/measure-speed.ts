import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LlamaContext, LlamaModel } from 'node-llama-cpp';
import { decode, setThreads, truncate } from '../runtime/bindings.ts';
import { fastestThreads, MAX_SLOTS, MAX_STEP_TOKENS, type StepTime } from './calibration.ts';

/** Time for all measurements together; only what cannot be left out may exceed it, on a model of seconds a step. */
const BUDGET_MS = 1_500;
/** Part of the budget for finding the number of threads; the rest is for what depends on it. */
const THREADS_BUDGET_FRACTION = 0.5;
/** Part of that time that a number of threads may have taken to be tried again at once. */
const RETRY_BUDGET_FRACTION = 0.5;
/** Runs of each step at most: more find nothing shorter. */
const MAX_RUNS = 6;
/** A number of threads whose step takes that many times as long as that of the least is not measured further. */
const MAX_SLOWDOWN = 2;
/** Steps one after another in a run of answers that is short: as in service, where each step is like the last. */
const BURST = 4;
const MAX_BURST_MS = 20;
/** Part of the processor that one thread has at least where nothing else is going on. */
const MIN_CPU_SHARE = 0.85;
/** Cells of each sequence of the context that is measured in. Enough, for prompts are spread over the sequences. */
const CELLS_PER_SLOT = 256;
/** Sequences to measure with where the memory has no room for all. */
const FALLBACK_SLOTS = 4;

type Step = Omit<StepTime, 'milliseconds'>;

/** Computes one step and gives its milliseconds. */
export type TimeStep = (step: Step) => Promise<number>;

/** What to measure. */
export interface MeasureOptions {
  /** Numbers of threads that come into question, ascending. */
  threads: readonly number[];
  /** Sequences that can be in a step. */
  slots: number;
  budgetMs: number;
  /** Milliseconds of a clock. */
  now(): number;
}

/** The numbers of threads to compare: powers of two up to the cores there are, and all of them; or the wished one. */
export function threadCandidates(configured: number | null, cores = availableParallelism()): number[] {
  if (configured !== null) return [configured];
  const found: number[] = [];
  for (let threads = 1; threads < cores; threads *= 2) found.push(threads);
  return [...found, Math.max(1, cores)];
}

/**
 * Times steps of answers and of prompts with each number of threads, then steps of more sizes with the fastest one.
 * Gives what was measured within the budget: at least one step, on a model of seconds a step nothing else.
 */
export async function measure(time: TimeStep, options: MeasureOptions): Promise<StepTime[]> {
  const record = new StepMeasurements(time, options);
  const { slots } = options;
  const [least = 1] = options.threads;
  const one = { slots: 1, tokens: 1 };
  // The first step of a model reads its weights from the disk, and is no measure of anything.
  await time({ threads: least, ...one });
  record.begin();
  await record.run({ threads: least, ...one });
  // Upwards, and no further once it gets bad: threads that wait for cores which others use make a step a hundred times
  // as long.
  const usable: number[] = [least];
  for (const threads of options.threads.slice(1)) {
    await record.run({ threads, ...one });
    // Once more, for a single run may have met with other work.
    await record.repeat([{ threads, ...one }], options.budgetMs * THREADS_BUDGET_FRACTION * RETRY_BUDGET_FRACTION, 1);
    const took = record.shortest({ threads, ...one });
    if (took === null || took > MAX_SLOWDOWN * (record.shortest({ threads: least, ...one }) ?? took)) break;
    usable.push(threads);
  }
  record.keepOnly(usable);
  if (usable.length > 1) {
    const kinds = [one, { slots, tokens: 64 }, { slots, tokens: slots }];
    await record.repeat(
      kinds.flatMap((kind) => usable.map((threads) => ({ threads, ...kind }))),
      options.budgetMs * THREADS_BUDGET_FRACTION,
    );
  }
  record.begin();
  await record.repeat(
    sizes(fastestThreads(record.times()) ?? least, slots),
    options.budgetMs * (1 - THREADS_BUDGET_FRACTION),
  );
  return record.times();
}

/** The shortest time of each step, and whether there is time for another one. */
class StepMeasurements {
  readonly #time: TimeStep;
  readonly #options: MeasureOptions;
  readonly #times = new Map<string, StepTime>();
  #startedAt = 0;

  constructor(time: TimeStep, options: MeasureOptions) {
    this.#time = time;
    this.#options = options;
  }

  begin(): void {
    this.#startedAt = this.#options.now();
  }

  times(): StepTime[] {
    return [...this.#times.values()];
  }

  shortest(step: Step): number | null {
    return this.#times.get(keyOf(step))?.milliseconds ?? null;
  }

  async run(step: Step): Promise<void> {
    const milliseconds = await this.#time(step);
    if (milliseconds < (this.shortest(step) ?? Number.POSITIVE_INFINITY)) {
      this.#times.set(keyOf(step), { ...step, milliseconds });
    }
  }

  /** Runs the steps again and again until there is no time, by the milliseconds since the beginning, for any of them. */
  async repeat(steps: readonly Step[], budgetMs: number, most = MAX_RUNS): Promise<void> {
    for (let runs = 0; runs < most; runs += 1) {
      for (const step of steps) {
        const left = budgetMs - (this.#options.now() - this.#startedAt);
        if (this.#expected(step) <= left) await this.run(step);
      }
    }
  }

  keepOnly(threads: readonly number[]): void {
    for (const [key, step] of this.#times) if (!threads.includes(step.threads)) this.#times.delete(key);
  }

  /** Milliseconds that a step will take: as before, or, of the largest one known, as much for each token. */
  #expected(step: Step): number {
    const known = this.shortest(step);
    if (known !== null) return known;
    const smaller = this.times()
      .filter((time) => time.threads === step.threads && time.tokens <= step.tokens)
      .sort((a, b) => b.tokens - a.tokens)[0];
    return smaller === undefined ? 0 : (smaller.milliseconds * step.tokens) / smaller.tokens;
  }
}

function keyOf({ threads, slots, tokens }: Step): string {
  return `${threads}/${slots}/${tokens}`;
}

/** Steps of growing sizes, so that what is known of the smaller ones says how long the next will take. */
function sizes(threads: number, slots: number): Step[] {
  const decodeSteps = [1, 2, 4, 8, 16].filter((count) => count <= slots);
  const prefillSteps = [32, 64, 128, 256, MAX_STEP_TOKENS].filter((tokens) => tokens <= slots * CELLS_PER_SLOT);
  return [
    ...decodeSteps.map((count) => ({ threads, slots: count, tokens: count })),
    ...prefillSteps.map((tokens) => ({ threads, slots: Math.min(slots, tokens / 2), tokens })),
  ];
}

/** What was measured. */
export interface Measured {
  times: StepTime[];
  /** Other work took so much of the processor that the times say little of a quiet machine. */
  disturbed: boolean;
}

/**
 * Measures a model on this machine, in a context of its own that is gone afterwards. Throws what llama.cpp throws when
 * there is no memory for that.
 */
export async function measureSpeed(model: LlamaModel, configuredThreads: number | null): Promise<Measured> {
  const threads = threadCandidates(configuredThreads);
  const context = await smallContext(model, threads[0] ?? 1);
  try {
    const timer = new StepTimer(context);
    const times = await measure((step) => timer.run(step), {
      threads,
      slots: context.totalSequences,
      budgetMs: BUDGET_MS,
      now: () => performance.now(),
    });
    return { times, disturbed: timer.cpuShare() < MIN_CPU_SHARE };
  } finally {
    await context.dispose();
  }
}

async function smallContext(model: LlamaModel, threads: number): Promise<LlamaContext> {
  const make = (slots: number): Promise<LlamaContext> =>
    model.createContext({ sequences: slots, contextSize: CELLS_PER_SLOT, batchSize: MAX_STEP_TOKENS, threads });
  return make(MAX_SLOTS).catch(() => make(FALLBACK_SLOTS));
}

/** Computes steps in a context and looks at the clock, and at how much of the processor it had. */
class StepTimer {
  readonly #context: LlamaContext;
  readonly #vocabulary: number;
  #drawn = 0;
  #wallMs = 0;
  #processorMs = 0;

  constructor(context: LlamaContext) {
    this.#context = context;
    this.#vocabulary = context.model.fileInfo.metadata.tokenizer.ggml.tokens.length;
  }

  /** The part of the processor that steps on one thread had: 1 on a quiet machine. */
  cpuShare(): number {
    return this.#wallMs === 0 ? 1 : this.#processorMs / this.#wallMs;
  }

  async run({ threads, slots, tokens }: Step): Promise<number> {
    setThreads(this.#context, threads);
    const part = Math.ceil(tokens / slots);
    let shortest = Number.POSITIVE_INFINITY;
    for (let position = 0; position < (part === 1 ? BURST : 1); position += 1) {
      const [startedAt, used] = [performance.now(), process.cpuUsage()];
      await this.#step({ slots, part, position });
      const took = performance.now() - startedAt;
      shortest = Math.min(shortest, took);
      if (took > MAX_BURST_MS) position = BURST;
      if (threads > 1) continue;
      const { user, system } = process.cpuUsage(used);
      this.#wallMs += took;
      this.#processorMs += (user + system) / 1_000;
    }
    for (let slot = 0; slot < slots; slot += 1) truncate(this.#context, slot, 0);
    // Messages from the parent are read between steps, the one that ends this process too.
    await nextTurn();
    return shortest;
  }

  async #step({ slots, part, position }: { slots: number; part: number; position: number }): Promise<void> {
    const items = Array.from({ length: slots }, (_, slot) => ({
      slot,
      position,
      tokens: Array.from({ length: part }, () => this.nextToken()),
      outputs: part === 1 || slot === 0 ? [part - 1] : [],
    }));
    await decode(this.#context, items);
  }

  /** Any token will do, but not always the same: a mixture of experts computes others for each. */
  nextToken(): number {
    this.#drawn += 7_919;
    return this.#drawn % this.#vocabulary;
  }
}
