/**
 * Measures ingestion throughput and memory by format. Exit code 1 when a memory limit is exceeded. `npm run
 * bench:ingest -- [--formats NAMES] [--rounds N] [--quick] [--profile] [--data DIR] [--json FILE]`; see
 * bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BENCH_SCRATCH, describeMachine, formatMachine, logProgress, writeResult } from '../harness/command.ts';
import { renderTable } from '../harness/text-table.ts';
import { type IngestionRun, measureIngestion } from './measure.ts';
import { ingestionTables, MEGABYTE, mainTable } from './report.ts';
import { writersOf } from './texts.ts';
import { INGEST_WORKLOADS } from './workloads.ts';

const { values: flags } = parseArgs({
  options: {
    formats: { type: 'string', default: INGEST_WORKLOADS.map(({ name }) => name).join(',') },
    files: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    data: { type: 'string' },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'ingest.json') },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 3));
const workloads = flags.formats.split(',').map((name) => {
  const workload = INGEST_WORKLOADS.find((each) => each.name === name);
  if (workload === undefined) throw new Error(`there is no format '${name}'`);
  return workload;
});

async function measureAll(profiled: boolean): Promise<IngestionRun[]> {
  const writers = writersOf(flags.data);
  const runs: IngestionRun[] = [];
  for (let round = 0; round < (profiled ? 1 : rounds); round++) {
    for (const workload of workloads) {
      const files = Number(flags.files ?? (flags.quick ? workload.quickFiles : workload.files));
      logProgress(`${profiled ? 'profiled' : `round ${round + 1} of ${rounds}`}: ${files} x ${workload.name}`);
      runs.push(await measureIngestion(workload, { files, round, writers, profiled }));
    }
  }
  return runs.sort((a, b) => flags.formats.indexOf(a.workload) - flags.formats.indexOf(b.workload));
}

async function main(): Promise<void> {
  const machine = describeMachine();
  const runs = await measureAll(false);
  const profiled = flags.profile ? await measureAll(true) : [];
  const boundOf = (name: string) => INGEST_WORKLOADS.find((workload) => workload.name === name)?.boundMb ?? 0;
  console.log(
    `${formatMachine(machine)} Median (smallest..largest) of ${rounds} round(s), each format in a fresh service.\n`,
  );
  const tables = [...ingestionTables(runs, boundOf), ...(profiled.length === 0 ? [] : [mainTable(profiled)])];
  console.log(tables.map(renderTable).join('\n\n'));
  await writeResult(flags.json, { machine, runs, profiled });
  const heavy = runs.filter(
    ({ workload, peakBytes, startBytes }) => (peakBytes - startBytes) / MEGABYTE > boundOf(workload),
  );
  for (const { workload, round } of heavy)
    logProgress(`round ${round + 1}: ${workload} took more memory than its bound`);
  if (heavy.length > 0) process.exitCode = 1;
}

await main();
