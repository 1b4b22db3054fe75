/**
 * Measures the index at the scale of a million chunks in one knowledge base, and of thousands of knowledge bases, with
 * synthetic texts and vectors: `node bench/retrieval/scale.ts PHASE --folder DIR [--chunks N] [--minutes N]`; see
 * bench/README.md.
 */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, formatMachine, runCommand, UsageError } from '../harness/command.ts';
import { measureBases } from './scale-bases.ts';
import { fillDatabase, fillIndex, fillPlain, type ScaleOptions } from './scale-fill.ts';
import { measureLoss, measureSearches } from './scale-search.ts';
import { measureUpdates } from './scale-updates.ts';

/** Phases, in the order in which they are run. Each may run again, and continues where it ended. */
const PHASES: Readonly<Record<string, (options: ScaleOptions) => Promise<object>>> = {
  fill: fillIndex,
  plain: fillPlain,
  rows: fillDatabase,
  search: measureSearches,
  updates: measureUpdates,
  bases: measureBases,
  lost: measureLoss,
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: 'string' },
      chunks: { type: 'string', default: '1000000' },
      minutes: { type: 'string', default: '7' },
    },
  });
  const phase = positionals[0] ?? '';
  const run = PHASES[phase];
  if (run === undefined || values.folder === undefined) {
    throw new UsageError(`Usage: scale.ts ${Object.keys(PHASES).join('|')} --folder DIR [--chunks N] [--minutes N]`);
  }
  const machine = describeMachine();
  const { folder } = values;
  const figures = await run({ folder, chunks: Number(values.chunks), minutes: Number(values.minutes) });
  const line = JSON.stringify({ at: new Date().toISOString(), phase, machine: formatMachine(machine), figures });
  await appendFile(join(folder, 'scale.jsonl'), `${line}\n`);
  console.log(JSON.stringify(figures, null, 1));
}

await runCommand(main);
