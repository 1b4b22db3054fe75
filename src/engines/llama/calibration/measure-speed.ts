import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LlamaContext, LlamaModel } from 'node-llama-cpp';
import { decode, setThreads, truncate } from '../runtime/bindings.ts';
import { fastestThreads, MAX_SLOTS, MAX_STEP_TOKENS, type StepTime } from './calibration.ts';

/** Time budget of all measurements. Only those that cannot be left out may exceed it, on very slow models. */
const BUDGET_MS = 1_500;
/** Fraction of the budget for choosing the thread count. */
const THREADS_BUDGET_FRACTION = 0.5;
/** Fraction of that time that a thread count may have used to be measured a second time. */
const RETRY_BUDGET_FRACTION = 0.5;
/** Maximum runs per step: more do not find a lower minimum. */
const MAX_RUNS = 6;
/** Thread counts that are slower than the lowest one by this factor are not measured further. */
const MAX_SLOWDOWN = 2;
/** Consecutive decode steps per run: in service, each step resembles the last one. */
const BURST = 4;
const MAX_BURST_MS = 20;
/** CPU share of one thread below which the machine counts as busy. */
const MIN_CPU_SHARE = 0.85;
/** Cells per slot of the measuring context: prompts are spread over the slots. */
const CELLS_PER_SLOT = 256;
/** Slots of the measuring context when memory is short. */
const FALLBACK_SLOTS = 4;

type Step = Omit<StepTime, 'milliseconds'>;

/** Computes one step and returns its duration in milliseconds. */
export type TimeStep = (step: Step) => Promise<number>;

/** Options of the measurement. */
export interface MeasureOptions {
  /** Candidate thread counts, ascending. */
  threads: readonly number[];
  /** Slots of the context. */
  slots: number;
  budgetMs: number;
  /** Clock in milliseconds. */
  now(): number;
}

/**
 * Returns the thread counts to compare: powers of two up to the number of cores, and that number; or the configured
 * one.
 */
export function threadCandidates(configured: number | null, cores = availableParallelism()): number[] {
  if (configured !== null) return [configured];
  const times: number[] = [];
  for (let threads = 1; threads < cores; threads *= 2) times.push(threads);
  return [...times, Math.max(1, cores)];
}

/**
 * Measures decode and prefill steps with each thread count, then more step sizes with the fastest. Returns what was
 * measured within the budget: at least one step.
 */
export async function measure(time: TimeStep, options: MeasureOptions): Promise<StepTime[]> {
  const record = new StepMeasurements(time, options);
  const { slots } = options;
  const [least = 1] = options.threads;
  const one = { slots: 1, tokens: 1 };
  // The first step of a model reads its weights from the disk.
  await time({ threads: least, ...one });
  record.begin();
  await record.run({ threads: least, ...one });
  // In ascending order, until it gets much slower: threads that wait for busy cores make a step a hundred times slower.
  const usable: number[] = [least];
  for (const threads of options.threads.slice(1)) {
    await record.run({ threads, ...one });
    // A second run, because the first one may have been disturbed.
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

/** Minimum duration of each step, and the remaining time. */
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
    return this.#times.get(stepKey(step))?.milliseconds ?? null;
  }

  async run(step: Step): Promise<void> {
    const milliseconds = await this.#time(step);
    if (milliseconds < (this.shortest(step) ?? Number.POSITIVE_INFINITY)) {
      this.#times.set(stepKey(step), { ...step, milliseconds });
    }
  }

  /** Repeats the steps until none of them is expected to end within the budget. */
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

  /** Expected duration in milliseconds: as measured, else extrapolated from the largest smaller step. */
  #expected(step: Step): number {
    const measured = this.shortest(step);
    if (measured !== null) return measured;
    const smaller = this.times()
      .filter((time) => time.threads === step.threads && time.tokens <= step.tokens)
      .sort((a, b) => b.tokens - a.tokens)[0];
    return smaller === undefined ? 0 : (smaller.milliseconds * step.tokens) / smaller.tokens;
  }
}

function stepKey({ threads, slots, tokens }: Step): string {
  return `${threads}/${slots}/${tokens}`;
}

/** Steps of increasing size: smaller ones predict the duration of larger ones. */
function sizes(threads: number, slots: number): Step[] {
  const decodeSteps = [1, 2, 4, 8, 16].filter((count) => count <= slots);
  const prefillSteps = [32, 64, 128, 256, MAX_STEP_TOKENS].filter((tokens) => tokens <= slots * CELLS_PER_SLOT);
  return [
    ...decodeSteps.map((count) => ({ threads, slots: count, tokens: count })),
    ...prefillSteps.map((tokens) => ({ threads, slots: Math.min(slots, tokens / 2), tokens })),
  ];
}

/** Result of a measurement. */
export interface Measured {
  times: StepTime[];
  /** The machine was too busy for the results to be stored. */
  disturbed: boolean;
}

/**
 * Measures a model on this machine in a temporary context. Throws the error of llama.cpp when there is no memory for
 * it.
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

/** Times steps, and the CPU share that they got. */
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

  /** CPU share of steps with one thread: 1 on an idle machine. */
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
    // Yields, so that messages of the parent, such as the one to exit, are handled.
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

  /** Arbitrary but varying tokens: a mixture of experts computes other weights for each. */
  nextToken(): number {
    this.#drawn += 7_919;
    return this.#drawn % this.#vocabulary;
  }
}
