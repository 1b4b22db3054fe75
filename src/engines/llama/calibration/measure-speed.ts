import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LlamaContext, LlamaModel } from 'node-llama-cpp';
import { decode, setThreads, truncate } from '../runtime/bindings.ts';
import { fastestThreads, MOST_SEQUENCES, MOST_STEP_TOKENS, type StepTime } from './calibration.ts';

/** Time for all measurements together; only what cannot be left out may exceed it, on a model of seconds a step. */
const BUDGET_MS = 1_500;
/** Part of the budget for finding the number of threads; the rest is for what depends on it. */
const THREADS_PART = 0.5;
/** Part of that time that a number of threads may have taken to be tried again at once. */
const ONCE_MORE_PART = 0.5;
/** Runs of each step at most: more find nothing shorter. */
const MOST_RUNS = 6;
/** A number of threads whose step takes that many times as long as that of the least is not measured further. */
const HOPELESS = 2;
/** Steps one after another in a run of answers that is short: as in service, where each step is like the last. */
const BURST = 4;
const BURST_MS = 20;
/** Part of the processor that one thread has at least where nothing else is going on. */
const UNDISTURBED = 0.85;
/** Cells of each sequence of the context that is measured in. Enough, for prompts are spread over the sequences. */
const CELLS = 256;
/** Sequences to measure with where the memory has no room for all. */
const FEW_SEQUENCES = 4;

type Step = Omit<StepTime, 'milliseconds'>;

/** Computes one step and gives its milliseconds. */
export type TimeStep = (step: Step) => Promise<number>;

/** What to measure. */
export interface MeasureOptions {
  /** Numbers of threads that come into question, ascending. */
  threads: readonly number[];
  /** Sequences that can be in a step. */
  sequences: number;
  budgetMs: number;
  /** Milliseconds of a clock. */
  now(): number;
}

/** The numbers of threads to compare: powers of two up to the cores there are, and all of them; or the wished one. */
export function threadCandidates(wished: number | null, cores = availableParallelism()): number[] {
  if (wished !== null) return [wished];
  const found: number[] = [];
  for (let threads = 1; threads < cores; threads *= 2) found.push(threads);
  return [...found, Math.max(1, cores)];
}

/**
 * Times steps of answers and of prompts with each number of threads, then steps of more sizes with the fastest one.
 * Gives what was measured within the budget: at least one step, on a model of seconds a step nothing else.
 */
export async function measure(time: TimeStep, options: MeasureOptions): Promise<StepTime[]> {
  const record = new Record(time, options);
  const { sequences } = options;
  const [least = 1] = options.threads;
  const one = { sequences: 1, tokens: 1 };
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
    await record.repeat([{ threads, ...one }], options.budgetMs * THREADS_PART * ONCE_MORE_PART, 1);
    const took = record.shortest({ threads, ...one });
    if (took === null || took > HOPELESS * (record.shortest({ threads: least, ...one }) ?? took)) break;
    usable.push(threads);
  }
  record.keepOnly(usable);
  if (usable.length > 1) {
    const kinds = [one, { sequences, tokens: 64 }, { sequences, tokens: sequences }];
    await record.repeat(
      kinds.flatMap((kind) => usable.map((threads) => ({ threads, ...kind }))),
      options.budgetMs * THREADS_PART,
    );
  }
  record.begin();
  await record.repeat(sizes(fastestThreads(record.times()) ?? least, sequences), options.budgetMs * (1 - THREADS_PART));
  return record.times();
}

/** The shortest time of each step, and whether there is time for another one. */
class Record {
  readonly #time: TimeStep;
  readonly #options: MeasureOptions;
  readonly #found = new Map<string, StepTime>();
  #begun = 0;

  constructor(time: TimeStep, options: MeasureOptions) {
    this.#time = time;
    this.#options = options;
  }

  begin(): void {
    this.#begun = this.#options.now();
  }

  times(): StepTime[] {
    return [...this.#found.values()];
  }

  shortest(step: Step): number | null {
    return this.#found.get(keyOf(step))?.milliseconds ?? null;
  }

  async run(step: Step): Promise<void> {
    const milliseconds = await this.#time(step);
    if (milliseconds < (this.shortest(step) ?? Number.POSITIVE_INFINITY)) {
      this.#found.set(keyOf(step), { ...step, milliseconds });
    }
  }

  /** Runs the steps again and again until there is no time, by the milliseconds since the beginning, for any of them. */
  async repeat(steps: readonly Step[], budgetMs: number, most = MOST_RUNS): Promise<void> {
    for (let runs = 0; runs < most; runs += 1) {
      for (const step of steps) {
        const left = budgetMs - (this.#options.now() - this.#begun);
        if (this.#expected(step) <= left) await this.run(step);
      }
    }
  }

  keepOnly(threads: readonly number[]): void {
    for (const [key, step] of this.#found) if (!threads.includes(step.threads)) this.#found.delete(key);
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

function keyOf({ threads, sequences, tokens }: Step): string {
  return `${threads}/${sequences}/${tokens}`;
}

/** Steps of growing sizes, so that what is known of the smaller ones says how long the next will take. */
function sizes(threads: number, sequences: number): Step[] {
  const answers = [1, 2, 4, 8, 16].filter((count) => count <= sequences);
  const prompts = [32, 64, 128, 256, MOST_STEP_TOKENS].filter((tokens) => tokens <= sequences * CELLS);
  return [
    ...answers.map((count) => ({ threads, sequences: count, tokens: count })),
    ...prompts.map((tokens) => ({ threads, sequences: Math.min(sequences, tokens / 2), tokens })),
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
export async function measureSpeed(model: LlamaModel, wishedThreads: number | null): Promise<Measured> {
  const threads = threadCandidates(wishedThreads);
  const context = await smallContext(model, threads[0] ?? 1);
  try {
    const timer = new StepTimer(context);
    const times = await measure((step) => timer.run(step), {
      threads,
      sequences: context.totalSequences,
      budgetMs: BUDGET_MS,
      now: () => performance.now(),
    });
    return { times, disturbed: timer.ownPart() < UNDISTURBED };
  } finally {
    await context.dispose();
  }
}

async function smallContext(model: LlamaModel, threads: number): Promise<LlamaContext> {
  const make = (sequences: number): Promise<LlamaContext> =>
    model.createContext({ sequences, contextSize: CELLS, batchSize: MOST_STEP_TOKENS, threads });
  return make(MOST_SEQUENCES).catch(() => make(FEW_SEQUENCES));
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
  ownPart(): number {
    return this.#wallMs === 0 ? 1 : this.#processorMs / this.#wallMs;
  }

  async run({ threads, sequences, tokens }: Step): Promise<number> {
    setThreads(this.#context, threads);
    const part = Math.ceil(tokens / sequences);
    let shortest = Number.POSITIVE_INFINITY;
    for (let position = 0; position < (part === 1 ? BURST : 1); position += 1) {
      const [begun, used] = [performance.now(), process.cpuUsage()];
      await this.#step({ sequences, part, position });
      const took = performance.now() - begun;
      shortest = Math.min(shortest, took);
      if (took > BURST_MS) position = BURST;
      if (threads > 1) continue;
      const { user, system } = process.cpuUsage(used);
      this.#wallMs += took;
      this.#processorMs += (user + system) / 1_000;
    }
    for (let sequence = 0; sequence < sequences; sequence += 1) truncate(this.#context, sequence, 0);
    // Messages from the parent are read between steps, the one that ends this process too.
    await nextTurn();
    return shortest;
  }

  async #step({ sequences, part, position }: { sequences: number; part: number; position: number }): Promise<void> {
    const items = Array.from({ length: sequences }, (_, sequence) => ({
      sequence,
      position,
      tokens: Array.from({ length: part }, () => this.#draw()),
      outputs: part === 1 || sequence === 0 ? [part - 1] : [],
    }));
    await decode(this.#context, items);
  }

  /** Any token will do, but not always the same: a mixture of experts computes others for each. */
  #draw(): number {
    this.#drawn += 7_919;
    return this.#drawn % this.#vocabulary;
  }
}
