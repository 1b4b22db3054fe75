/**
 * Quire before a mock upstream, beside Portkey's gateway and a bare proxy.
 * `npm run bench:gateway -- [--quick] [--rounds N] [--seconds N] [--json FILE]`; see bench/README.md.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startField } from './contenders.ts';
import { LoadClient } from './load-client.ts';
import { measure, type Plan } from './measure.ts';
import { buildReport, printReport } from './report.ts';

const DEFAULT_JSON_FILE = join(import.meta.dirname, '../../.scratch/bench/gateway.json');
const FULL: Plan = {
  rounds: 5,
  connections: [1, 32, 256],
  sequentialIterations: 500,
  warmupIterations: 100,
  seconds: 3,
  warmupSeconds: 1,
};
const QUICK: Plan = { ...FULL, rounds: 2, sequentialIterations: 200, warmupIterations: 50, seconds: 1 };

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    json: { type: 'string', default: DEFAULT_JSON_FILE },
  },
});

function progress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}

function choosePlan(): Plan {
  const plan = flags.quick ? QUICK : FULL;
  return {
    ...plan,
    rounds: Number(flags.rounds ?? plan.rounds),
    seconds: Number(flags.seconds ?? plan.seconds),
  };
}

async function main(): Promise<void> {
  const plan = choosePlan();
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
    loadAverageAtStart: loadavg()[0] ?? 0,
  };
  const field = await startField(progress);
  const load = new LoadClient();
  try {
    const found = await measure(field.contenders, load, plan, progress);
    const report = buildReport(field.contenders, found);
    console.log(
      `\n${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load average at start ${machine.loadAverageAtStart.toFixed(2)}\n` +
        `${plan.rounds} rounds of ${plan.seconds} s a window, interleaved; median (smallest..largest) over the rounds.\n` +
        'Gateway, mock upstream and load generator share the cores, nothing is pinned: requests per second hold for this\n' +
        'sharing only, while CPU ms per 1000 requests is what each process uses itself. "direct" is the mock upstream alone.\n',
    );
    console.log(printReport(report));
    for (const reason of field.absent) console.log(`\nnot measured: ${reason}`);
    await mkdir(dirname(flags.json), { recursive: true });
    const { aims, errorCount, errors } = report;
    const document = { at: new Date().toISOString(), machine, plan, absent: field.absent, aims, errorCount, errors };
    await writeFile(flags.json, `${JSON.stringify({ ...document, ...found }, null, 1)}\n`);
    progress(`written: ${flags.json}`);
    if (report.errorCount > 0) process.exitCode = 1;
  } finally {
    load.stop();
    await field.stop();
  }
}

await main();
