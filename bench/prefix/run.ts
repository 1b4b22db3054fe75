/**
 * Benefit and cost of the prefix cache.
 * `npm run bench:prefix -- [--parts first-token,overhead,same-text,tenants,traces] [--data DIR] [--model NAME]
 * [--threads N] [--rounds N] [--quick] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { RANDOM_MODELS, randomModelFile } from '../engine/random-model.ts';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  loadAverage,
  logProgress,
  writeResult,
} from '../harness/command.ts';
import { renderTable, type TextTable } from '../harness/text-table.ts';
import { measureFirstTokens } from './first-token.ts';
import { measureOverhead } from './overhead.ts';
import { chatPrompts, letterPrompts, measureRepeatability } from './repeatability.ts';
import { endlessCache, hitRate, pagedCache, savedStates } from './replay.ts';
import {
  firstTokenTable,
  overheadTable,
  repeatabilityTable,
  type TraceRates,
  tenantsTable,
  traceTable,
} from './report.ts';
import { measureTenants } from './tenants.ts';
import { readTraces } from './traces.ts';

const LENGTHS = [1_000, 4_000, 16_000];
/** Cache sizes from a hundredth of the traces to more than all of them. */
const CAPACITIES = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000];

const { values: flags } = parseArgs({
  options: {
    parts: { type: 'string', default: 'first-token,overhead,same-text,tenants,traces' },
    data: { type: 'string' },
    model: { type: 'string', default: '40m-f16' },
    models: { type: 'string', default: join(BENCH_SCRATCH, 'models') },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'prefix.json') },
  },
});

/** One part of the benchmark: its figures and the tables that show them. */
interface BenchPart {
  figures: unknown;
  tables: TextTable[];
}

async function replayTraces(folder: string): Promise<BenchPart> {
  const figures: TraceRates[] = [];
  for (const trace of await readTraces(folder)) {
    logProgress(`replaying ${trace.name}`);
    const rates = CAPACITIES.map((capacityBlocks) => ({
      capacityBlocks,
      paged: hitRate(trace, pagedCache(capacityBlocks)),
      quire: hitRate(trace, savedStates(capacityBlocks)),
    }));
    figures.push({
      trace: trace.name,
      requests: trace.requests.length,
      distinctBlocks: new Set(trace.requests.flatMap(({ blocks }) => blocks)).size,
      ideal: hitRate(trace, endlessCache()),
      rates,
    });
  }
  return { figures, tables: figures.map(traceTable) };
}

async function compareTexts(file: string, threads: number): Promise<BenchPart> {
  const count = flags.quick ? 16 : 100;
  const figures = [
    {
      model: `random ${flags.model}`,
      result: await measureRepeatability({ file, threads, prompts: letterPrompts(count) }, logProgress),
    },
    {
      model: 'the bundled model',
      result: await measureRepeatability(
        { file: BUNDLED_MODELS.chat.file, threads, prompts: chatPrompts(count) },
        logProgress,
      ),
    },
  ];
  return { figures, tables: [repeatabilityTable(figures)] };
}

async function runPart(name: string, file: string): Promise<BenchPart | string> {
  const threads = Number(flags.threads);
  const rounds = (full: number): number => Number(flags.rounds ?? (flags.quick ? 2 : full));
  if (name === 'first-token') {
    const lengths = flags.quick ? LENGTHS.slice(0, 2) : LENGTHS;
    const figures = await measureFirstTokens({ file, threads, lengths, rounds: rounds(3) }, logProgress);
    return { figures, tables: [firstTokenTable(figures)] };
  }
  if (name === 'overhead') {
    const figures = await measureOverhead({ file, threads, rounds: rounds(20) }, logProgress);
    return { figures, tables: [overheadTable(figures)] };
  }
  if (name === 'tenants') {
    const figures = await measureTenants({ file, threads, rounds: rounds(100) });
    return { figures, tables: [tenantsTable(figures)] };
  }
  if (name === 'same-text') return compareTexts(file, threads);
  if (name !== 'traces') throw new Error(`no part '${name}'`);
  return flags.data === undefined ? 'traces: not replayed, for no --data DIR was given.' : replayTraces(flags.data);
}

async function main(): Promise<void> {
  const model = RANDOM_MODELS[flags.model];
  if (model === undefined)
    throw new Error(`no model '${flags.model}'; there are ${Object.keys(RANDOM_MODELS).join(', ')}`);
  const file = await randomModelFile(flags.models, model);
  const machine = describeMachine();
  console.log(
    `${formatMachine(machine)}\nModel ${flags.model}, ${flags.threads} thread(s).\n` +
      'Median (smallest..largest) over the rounds, ratios within a round.',
  );
  const parts: Record<string, unknown> = {};
  for (const name of flags.parts.split(',')) {
    const loadBefore = loadAverage();
    const part = await runPart(name, file);
    if (typeof part === 'string') {
      console.log(`\n${part}`);
      continue;
    }
    const loadAfter = loadAverage();
    parts[name] = { figures: part.figures, loadBefore, loadAfter };
    const load = `Load average before ${loadBefore.toFixed(1)}, after ${loadAfter.toFixed(1)}.`;
    console.log(`\n${part.tables.map(renderTable).join('\n\n')}\n\n${load}`);
  }
  await writeResult(flags.json, { machine, flags, parts });
}

await main();
