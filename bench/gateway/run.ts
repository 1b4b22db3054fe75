/**
 * Quire in front of a mock upstream, compared with Portkey's gateway and a bare proxy.
 * With `--features`: Quire alone, with rate limits, a guardrail policy and credits on and off.
 * With `--protocols`: Quire alone, chat completions beside the other protocols.
 * With `--processes`: Quire alone, with one and two API processes.
 * With `--recording`: Quire alone, without and with the recording of prompts and answers.
 * `npm run bench:gateway -- [--quick] [--features | --protocols | --processes | --recording] [--rounds N]
 * [--seconds N] [--warmup SECONDS] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BENCH_SCRATCH, describeMachine, formatMachine, logProgress, writeResult } from '../harness/command.ts';
import {
  startContenders,
  startFeatureContenders,
  startProcessContenders,
  startProtocolContenders,
  startRecordingContenders,
} from './contenders.ts';
import { LoadClient } from './load-client.ts';
import { type GatewayPlan, measureGateways } from './measure.ts';
import { buildReport, printReport } from './report.ts';

const FULL: GatewayPlan = {
  rounds: 5,
  connections: [1, 32, 256],
  sequentialIterations: 500,
  warmupIterations: 100,
  seconds: 3,
  warmupSeconds: 1,
  warmupLoadSeconds: 0,
};
const QUICK: GatewayPlan = { ...FULL, rounds: 2, sequentialIterations: 200, warmupIterations: 50, seconds: 1 };

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    features: { type: 'boolean', default: false },
    protocols: { type: 'boolean', default: false },
    processes: { type: 'boolean', default: false },
    recording: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    warmup: { type: 'string' },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'gateway.json') },
  },
});

function choosePlan(): GatewayPlan {
  const plan = flags.quick ? QUICK : FULL;
  return {
    ...plan,
    ...((flags.protocols || flags.processes || flags.recording) && { connections: [32] }),
    rounds: Number(flags.rounds ?? plan.rounds),
    seconds: Number(flags.seconds ?? plan.seconds),
    warmupLoadSeconds: Number(flags.warmup ?? plan.warmupLoadSeconds),
  };
}

function chooseField(): typeof startContenders {
  if (flags.protocols) return startProtocolContenders;
  if (flags.processes) return startProcessContenders;
  if (flags.recording) return startRecordingContenders;
  return flags.features ? startFeatureContenders : startContenders;
}

async function main(): Promise<void> {
  const plan = choosePlan();
  const machine = describeMachine();
  const field = await chooseField()(logProgress);
  const load = new LoadClient();
  try {
    const found = await measureGateways(field.contenders, load, plan, logProgress);
    const report = buildReport(field.contenders, found);
    console.log(
      `\n${formatMachine(machine)}\n` +
        `${plan.rounds} rounds of ${plan.seconds} s a window, interleaved; median (smallest..largest) over the rounds.\n` +
        'Gateway, mock upstream and load generator share the cores, nothing is pinned: requests per second hold for this\n' +
        'sharing only, while CPU ms per 1000 requests is what each process uses itself. "direct" is the mock upstream alone.\n',
    );
    console.log(printReport(report));
    for (const reason of field.absent) console.log(`\nnot measured: ${reason}`);
    const { aims, errorCount, errors } = report;
    await writeResult(flags.json, { machine, plan, absent: field.absent, aims, errorCount, errors, ...found });
    if (report.errorCount > 0) process.exitCode = 1;
  } finally {
    load.stop();
    await field.stop();
  }
}

await main();
