/**
 * Retrieval from knowledge bases of several sizes, beside LanceDB called directly and Chroma's server.
 * `npm run bench:retrieval -- --data DIR [--sizes LIST] [--rounds N] [--seconds N] [--quick] [--keep-indexes] [--no-peer]
 * [--folder DIR] [--json FILE]`; see bench/README.md.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { requireFiles, WrongCallError } from '../../eval/data-set.ts';
import { markdown } from '../engine/report.ts';
import { type ChromaRelease, installChroma } from './chroma.ts';
import { type BenchDocument, FILES, readDocuments, readQueries } from './documents.ts';
import { filledBase } from './filled-base.ts';
import type { Plan } from './measure.ts';
import { measureSize } from './measure-size.ts';
import { aimLines, type SizeFigures, tablesOf } from './report.ts';

const SCRATCH = join(import.meta.dirname, '../../.scratch/bench');
const FULL: Plan = { rounds: 5, seconds: 3, warmupSeconds: 0.5, recallQueries: 200 };
const QUICK: Plan = { rounds: 1, seconds: 1, warmupSeconds: 0.2, recallQueries: 50 };
const SIZES = '1000,50000,200000';
const QUICK_SIZES = '1000';

function progress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}

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
      folder: { type: 'string', default: join(SCRATCH, 'retrieval') },
      json: { type: 'string', default: join(SCRATCH, 'retrieval.json') },
    },
    allowNegative: true,
  });
  return values;
}

type Flags = ReturnType<typeof readFlags>;

function planOf({ quick, rounds, seconds }: Flags): Plan {
  const plan = quick ? QUICK : FULL;
  return { ...plan, rounds: Number(rounds ?? plan.rounds), seconds: Number(seconds ?? plan.seconds) };
}

/** The texts take seconds to read, and are needed only where a folder is not filled yet. */
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
  const data = requireFiles(flags.data, FILES);
  const plan = planOf(flags);
  const queries = readQueries(data);
  const documents = once(() => readDocuments(data));
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
    loadAverageAtStart: loadavg()[0] ?? 0,
  };
  const peer = await peerOf(flags);
  const release = typeof peer === 'string' ? null : peer;
  const sizes: SizeFigures[] = [];
  for (const size of (flags.sizes ?? (flags.quick ? QUICK_SIZES : SIZES)).split(',').map(Number)) {
    progress(`${size} chunks: filling, unless they are there`);
    const base = await filledBase(flags.folder, size, documents);
    const keepIndexes = flags['keep-indexes'];
    const figures = await measureSize(base, { plan, queries, release, keepIndexes, progress });
    sizes.push(figures);
    console.log(`\n${tablesOf(figures).map(markdown).join('\n\n')}`);
    await mkdir(dirname(flags.json), { recursive: true });
    await writeFile(flags.json, `${JSON.stringify({ at: new Date().toISOString(), machine, plan, sizes })}\n`);
  }
  console.log(
    `\n${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load average ${machine.loadAverageAtStart.toFixed(1)} at the start ` +
      `and ${(loadavg()[0] ?? 0).toFixed(1)} at the end. ${plan.rounds} rounds of ${plan.seconds} s a window, interleaved; median ` +
      `(smallest..largest) over the rounds. ${queries.length} queries.\n\n${aimLines(sizes).join('\n')}`,
  );
  if (typeof peer === 'string') console.log(`\nnot measured: ${peer}`);
  progress(`written: ${flags.json}`);
}

try {
  await main(readFlags());
} catch (error) {
  if (!(error instanceof WrongCallError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
