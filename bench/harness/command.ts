import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';

const BAR_WIDTH = 20;

/** The root of the checkout. */
export const CHECKOUT = join(import.meta.dirname, '../..');
/** Generated inputs and results of benchmarks. Git ignores the folder. */
export const BENCH_SCRATCH = join(CHECKOUT, '.scratch/bench');

/** The command line is wrong, or data is missing. The message is one sentence for the user. */
export class UsageError extends Error {}

/** Runs a command. Prints the message of a `UsageError` and sets exit code 2; rejects with every other error. */
export async function runCommand(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

/** Writes one line with the time of day to stderr. */
export function logProgress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}

/** Redraws a progress bar on stderr. Does nothing unless stderr is a terminal. */
export function showProgress(done: number, total: number, label: string): void {
  if (!process.stderr.isTTY) return;
  const filled = Math.round((BAR_WIDTH * done) / Math.max(1, total));
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_WIDTH - filled);
  process.stderr.write(`\r[${bar}] ${done}/${total} ${label}\u001b[K${done >= total ? '\n' : ''}`);
}

/** The machine that a benchmark runs on. */
export interface Machine {
  cpu: string;
  cores: number;
  node: string;
  /** One-minute load average when `describeMachine` was called. */
  loadAverageAtStart: number;
}

/** Describes this machine. Call it before the load starts. */
export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
    loadAverageAtStart: loadAverage(),
  };
}

/** One line about the machine, with the load average at the start and now. */
export function formatMachine({ cpu, cores, node, loadAverageAtStart }: Machine): string {
  const load = `${loadAverageAtStart.toFixed(1)} at the start, ${loadAverage().toFixed(1)} at the end`;
  return `${cpu}, ${cores} cores, Node ${node}, load average ${load}.`;
}

/** One-minute load average. */
export function loadAverage(): number {
  return loadavg()[0] ?? 0;
}

/** Writes a result with its time to `file`, creates the folder, and logs the path. */
export async function writeResult(file: string, result: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), ...result }, null, 1)}\n`);
  logProgress(`written: ${file}`);
}
