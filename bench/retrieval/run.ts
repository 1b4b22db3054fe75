/**
 * Measures retrieval from knowledge bases of several sizes, compared with direct LanceDB calls and Chroma's server.
 * `npm run bench:retrieval -- --data DIR [--sizes LIST] [--rounds N] [--seconds N] [--quick] [--keep-indexes]
 * [--no-peer] [--folder DIR] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  logProgress,
  runCommand,
  writeResult,
} from '../harness/command.ts';
import { requireDataFiles } from '../harness/data-set.ts';
import { renderTable } from '../harness/text-table.ts';
import { type ChromaRelease, installChroma } from './chroma.ts';
import { type BenchDocument, REQUIRED_FILES, readDocuments, readQueries } from './documents.ts';
import { filledBase } from './filled-base.ts';
import type { MeasurementPlan } from './measure.ts';
import { measureSize } from './measure-size.ts';
import { aimLines, retrievalTables, type SizeFigures } from './report.ts';

const FULL: MeasurementPlan = { rounds: 5, seconds: 3, warmupSeconds: 0.5, recallQueries: 200 };
const QUICK: MeasurementPlan = { rounds: 1, seconds: 1, warmupSeconds: 0.2, recallQueries: 50 };
const SIZES = '1000,50000,200000';
const QUICK_SIZES = '1000';

function readFlags() {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      sizes: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      'keep-indexes': { type: 'boolean', default: false },
      peer: { type: 'boolean', default: true },
      folder: { type: 'string', default: join(BENCH_SCRATCH, 'retrieval') },
      json: { type: 'string', default: join(BENCH_SCRATCH, 'retrieval.json') },
    },
    allowNegative: true,
  });
  return values;
}

type Flags = ReturnType<typeof readFlags>;

function planOf({ quick, rounds, seconds }: Flags): MeasurementPlan {
  const plan = quick ? QUICK : FULL;
  return { ...plan, rounds: Number(rounds ?? plan.rounds), seconds: Number(seconds ?? plan.seconds) };
}

/** Lazy, because texts take seconds to read and are only needed to fill a folder. */
function once(read: () => BenchDocument[]): () => BenchDocument[] {
  let known: BenchDocument[] | null = null;
  return () => {
    known ??= read();
    return known;
  };
}

async function peerOf({ peer }: Flags): Promise<ChromaRelease | string> {
  if (!peer) return 'Chroma: --no-peer';
  return installChroma().catch((error: Error) => error.message);
}

async function main(flags: Flags): Promise<void> {
  const data = requireDataFiles(flags.data, REQUIRED_FILES);
  const plan = planOf(flags);
  const queries = readQueries(data);
  const documents = once(() => readDocuments(data));
  const machine = describeMachine();
  const peer = await peerOf(flags);
  const release = typeof peer === 'string' ? null : peer;
  const sizes: SizeFigures[] = [];
  for (const size of (flags.sizes ?? (flags.quick ? QUICK_SIZES : SIZES)).split(',').map(Number)) {
    logProgress(`${size} chunks: filling, unless they are there`);
    const base = await filledBase(flags.folder, size, documents);
    const keepIndexes = flags['keep-indexes'];
    const figures = await measureSize(base, { plan, queries, release, keepIndexes, progress: logProgress });
    sizes.push(figures);
    console.log(`\n${retrievalTables(figures).map(renderTable).join('\n\n')}`);
    await writeResult(flags.json, { machine, plan, sizes });
  }
  console.log(
    `\n${formatMachine(machine)} ${plan.rounds} rounds of ${plan.seconds} s a window, interleaved; median ` +
      `(smallest..largest) over the rounds. ${queries.length} queries.\n\n${aimLines(sizes).join('\n')}`,
  );
  if (typeof peer === 'string') console.log(`\nnot measured: ${peer}`);
}

await runCommand(() => main(readFlags()));
