/**
 * Compares Quire's local engine with llama-server on models of random weights.
 * `npm run bench:engine -- [--llama-server PATH] [--model NAMES] [--threads N] [--rounds N] [--answer-tokens N]
 * [--arrivals N] [--no-http] [--quick] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BENCH_SCRATCH, describeMachine, formatMachine, logProgress, writeResult } from '../harness/command.ts';
import { renderTable } from '../harness/text-table.ts';
import type { EngineContender } from './contender.ts';
import { type EnginePlan, measureEngines, type RoundFigures } from './measure.ts';
import { startPort } from './port-contender.ts';
import { RANDOM_MODELS, randomModelFile } from './random-model.ts';
import { engineTables } from './report.ts';
import { type EngineSetup, startLlamaServer, startQuireContender } from './servers.ts';

const FULL: EnginePlan = { rounds: 5, concurrency: [1, 4, 16], answerTokens: 128, arrivals: 4, streamTokens: 2_200 };
const QUICK: EnginePlan = { ...FULL, rounds: 1, arrivals: 2 };
/** Context for prompts of 2,048 tokens and the longest stream. */
const CONTEXT_TOKENS = 2_304;
const REFERENCE = 'llama-server';

const { values: flags } = parseArgs({
  options: {
    'llama-server': { type: 'string' },
    model: { type: 'string', default: '40m-f16,300m-q8' },
    models: { type: 'string', default: join(BENCH_SCRATCH, 'models') },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    'answer-tokens': { type: 'string' },
    arrivals: { type: 'string' },
    quick: { type: 'boolean', default: false },
    http: { type: 'boolean', default: true },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'engine.json') },
  },
  allowNegative: true,
});

async function startAll(setup: EngineSetup): Promise<EngineContender[]> {
  const contenders: EngineContender[] = [];
  try {
    contenders.push(await startPort('Quire, engine', setup));
    const program = flags['llama-server'];
    if (program !== undefined) contenders.push(await startLlamaServer(program, setup));
    if (flags.http) contenders.push(await startQuireContender(setup));
    return contenders;
  } catch (error) {
    for (const contender of contenders) await contender.stop();
    throw error;
  }
}

async function measureModel(name: string, plan: EnginePlan): Promise<RoundFigures[]> {
  const model = RANDOM_MODELS[name];
  if (model === undefined) throw new Error(`no model '${name}'; there are ${Object.keys(RANDOM_MODELS).join(', ')}`);
  logProgress(`${name}: weights`);
  const file = await randomModelFile(flags.models, model);
  const slots = Math.max(...plan.concurrency);
  const contenders = await startAll({ file, contextTokens: CONTEXT_TOKENS, slots, threads: Number(flags.threads) });
  try {
    return await measureEngines(contenders, plan, (line) => logProgress(`${name}: ${line}`));
  } finally {
    for (const contender of contenders) await contender.stop();
  }
}

async function main(): Promise<void> {
  const base = flags.quick ? QUICK : FULL;
  const answerTokens = Number(flags['answer-tokens'] ?? base.answerTokens);
  const arrivals = Number(flags.arrivals ?? base.arrivals);
  const plan = { ...base, rounds: Number(flags.rounds ?? base.rounds), answerTokens, arrivals };
  const machine = describeMachine();
  console.log(
    `${formatMachine(machine)}\n` +
      `${flags.threads} thread(s), ${plan.rounds} rounds, interleaved; median (smallest..largest) over the rounds.\n` +
      'The service ("Quire, HTTP") calibrates the size of its steps itself.',
  );
  if (flags['llama-server'] === undefined)
    console.log('llama-server: not measured, for no --llama-server PATH was given.');
  const models: Record<string, RoundFigures[]> = {};
  for (const name of flags.model.split(',')) {
    const rounds = await measureModel(name, plan);
    models[name] = rounds;
    const loads = rounds.map((figures) => figures.loadAverage.toFixed(1));
    const tables = engineTables(rounds, name, REFERENCE).map(renderTable);
    console.log(`\n${tables.join('\n\n')}\n\nLoad averages at the rounds: ${[...new Set(loads)].join(', ')}.`);
  }
  await writeResult(flags.json, { machine, threads: Number(flags.threads), plan, models });
}

await main();
