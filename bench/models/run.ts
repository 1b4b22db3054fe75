/**
 * Compares the bundled models over HTTP with encoders of public sizes in ONNX Runtime.
 * `npm run bench:models -- [--tasks NAMES] [--rounds N] [--seconds N] [--threads N] [--quick] [--no-yardstick] [--json
 * FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BENCH_SCRATCH, describeMachine, formatMachine, logProgress, writeResult } from '../harness/command.ts';
import { renderTable } from '../harness/text-table.ts';
import { type ModelContender, startEncoder, startQuireContender } from './contenders.ts';
import { askOnce, describeLoad, type ModelWindow, measureWindow } from './load.ts';
import { type ModelMemory, measureContender, measureEngine } from './memory.ts';
import { memoryTable, speedTables } from './report.ts';
import { MODEL_WORKLOADS, type ModelWorkload } from './workloads.ts';

const CONCURRENCY = [1, 32];

const { values: flags } = parseArgs({
  options: {
    tasks: { type: 'string', default: 'embeddings,rerank,moderations' },
    models: { type: 'string', default: join(BENCH_SCRATCH, 'models') },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    yardstick: { type: 'boolean', default: true },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'models.json') },
  },
  allowNegative: true,
});

async function startAll(contenders: ModelContender[]): Promise<void> {
  logProgress('starting');
  contenders.push(await startQuireContender());
  if (!flags.yardstick) return;
  const threads = Number(flags.threads);
  contenders.push(await startEncoder(flags.models, 'bge-small', threads));
  contenders.push(await startEncoder(flags.models, 'minilm-l6', threads));
}

/** Checks that the texts have the token counts in their names. */
async function checkTokens(contender: ModelContender, workload: ModelWorkload): Promise<void> {
  if (workload.tokens === undefined) return;
  const { usage } = (await askOnce(contender, workload)) as { usage: { prompt_tokens: number } };
  if (usage.prompt_tokens === workload.tokens) return;
  throw new Error(`a text of ${workload.tokens} tokens has ${usage.prompt_tokens}`);
}

async function measure(
  contenders: readonly ModelContender[],
  workloads: readonly ModelWorkload[],
): Promise<ModelWindow[]> {
  const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5));
  const seconds = Number(flags.seconds ?? (flags.quick ? 1 : 3));
  const windows: ModelWindow[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const workload of workloads) {
      for (const requests of CONCURRENCY) {
        logProgress(`round ${round + 1} of ${rounds}: ${describeLoad(workload, requests)}`);
        // Another one begins each round, so that drift of the machine hits all alike.
        for (let turn = 0; turn < contenders.length; turn++) {
          const contender = contenders[(turn + round) % contenders.length];
          if (!contender?.tasks.includes(workload.task)) continue;
          windows.push(await measureWindow(contender, workload, { requests, seconds, round }));
        }
      }
    }
  }
  const order = contenders.map(({ name }) => name);
  return windows.sort((a, b) => order.indexOf(a.contender) - order.indexOf(b.contender));
}

async function main(): Promise<void> {
  const tasks = flags.tasks.split(',');
  const workloads = MODEL_WORKLOADS.filter(({ task }) => tasks.includes(task));
  const machine = describeMachine();
  const contenders: ModelContender[] = [];
  const memory: ModelMemory[] = [];
  try {
    for (const task of new Set(workloads.map(({ task }) => task))) {
      logProgress(`memory of the model for ${task}`);
      memory.push(...(await measureEngine(task)));
    }
    await startAll(contenders);
    for (const contender of contenders) {
      logProgress(`memory of ${contender.name}`);
      memory.push(...(await measureContender(contender, workloads)));
    }
    for (const workload of workloads) if (contenders[0] !== undefined) await checkTokens(contenders[0], workload);
    const windows = await measure(contenders, workloads);
    console.log(
      `${formatMachine(machine)} ONNX Runtime on ${flags.threads} thread(s). Median (smallest..largest) over the ` +
        'rounds, interleaved; ratios within a round.\n',
    );
    console.log([...speedTables(windows), memoryTable(memory)].map(renderTable).join('\n\n'));
    await writeResult(flags.json, { machine, windows, memory });
  } finally {
    for (const contender of contenders) await contender.stop();
  }
}

await main();
