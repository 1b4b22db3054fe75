import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { requireFiles, WrongCallError } from './data-set.ts';
import { type Address, type Backend, type Service, startService } from './start-service.ts';
import { countChanges, kept, markdown, type Sheet } from './table.ts';

const ROOT = join(import.meta.dirname, '..');

/** What an evaluation measures, and what it needs for that. */
export interface Evaluation {
  /** As in `npm run eval:NAME`. */
  name: string;
  /** The model ids that are asked. */
  models: readonly string[];
  /** Files that must lie below the data folder. */
  files: readonly string[];
  /** Of the service, where it is started for this. */
  logLevel?: 'debug';
  /** Measures, a sheet after the other. `data` is the folder. */
  measure(service: Service, data: string): AsyncIterable<Sheet>;
  /** What `--through NAME` measures instead. */
  through?: Readonly<Record<string, Evaluation>>;
}

/** A run, as it is written to its JSON file. */
interface Run {
  at: string;
  backends: Record<string, Backend>;
  sheets: Sheet[];
}

/**
 * The command of an evaluation: reads the flags (`--data`, `--url` with `--key`, `--before`, `--same`, `--json`, `--through`), measures the service,
 * and prints every sheet as it comes, beside the figures of an earlier run. A wrong call says why in a sentence and ends
 * with code 2.
 */
export async function runEvaluation(evaluation: Evaluation): Promise<void> {
  try {
    await run(evaluation);
  } catch (error) {
    if (!(error instanceof WrongCallError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

async function run(named: Evaluation): Promise<void> {
  const { evaluation, ...flags } = flagsOf(named);
  const data = requireFiles(flags.data, evaluation.files);
  const before = earlierRun(flags.before);
  if (flags.same && before === null)
    throw new WrongCallError(`There is no earlier run to compare with: ${flags.before}`);
  const service = await startService(addressOf(flags), evaluation.logLevel);
  const sheets: Sheet[] = [];
  try {
    const backends: Record<string, Backend> = {};
    for (const model of evaluation.models) backends[model] = await service.backendOf(model);
    say(
      `${described(backends)}${before === null ? '' : `; "was": ${described(before.backends)}, ${before.at.slice(0, 10)}`}\n`,
    );
    for await (const sheet of evaluation.measure(service, data)) {
      sheets.push(sheet);
      say(`${markdown(sheet, before?.sheets)}\n`);
    }
    write(flags.json, { at: new Date().toISOString(), backends, sheets });
    if (flags.same) requireSame(sheets, before?.sheets ?? [], flags.before);
  } finally {
    await service.stop();
  }
}

function flagsOf(named: Evaluation) {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      url: { type: 'string' },
      key: { type: 'string' },
      before: { type: 'string' },
      same: { type: 'boolean', default: false },
      json: { type: 'string' },
      through: { type: 'string' },
    },
  });
  const evaluation = values.through === undefined ? named : named.through?.[values.through];
  if (evaluation === undefined) throw new WrongCallError(`There is no --through ${values.through} here.`);
  return {
    ...values,
    evaluation,
    before: values.before ?? join(ROOT, `eval/kept/${evaluation.name}.json`),
    json: values.json ?? join(ROOT, `.scratch/eval/${evaluation.name}.json`),
  };
}

function requireSame(sheets: readonly Sheet[], before: readonly Sheet[], file: string): void {
  const changes = sheets.reduce((sum, sheet) => sum + countChanges(sheet, before), 0);
  if (changes === 0) return;
  process.stderr.write(`${changes} figures are not those of ${file}; with new weights, keep a new run there.\n`);
  process.exitCode = 1;
}

function addressOf({ url, key }: { url?: string | undefined; key?: string | undefined }): Address | undefined {
  if (url === undefined) return undefined;
  if (key === undefined)
    throw new WrongCallError('--url needs --key, a key of the service there with the scope inference.');
  return { url, key };
}

function earlierRun(file: string): Run | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Run) : null;
}

function described(backends: Run['backends']): string {
  return Object.entries(backends)
    .map(([id, { engine, model }]) => `${id}: ${model} (${engine})`)
    .join(', ');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One line a row, so that a kept file shows in a diff what has changed. */
function write(file: string, { sheets, ...facts }: Run): void {
  const sheetText = ({ rows, ...sheet }: Sheet): string => {
    const lines = rows.map((row) => `   ${JSON.stringify(row, rounded)}`).join(',\n');
    return `  ${JSON.stringify(sheet).slice(0, -1)},"rows":[\n${lines}\n  ]}`;
  };
  const text = `${JSON.stringify(facts).slice(0, -1)},"sheets":[\n${sheets.map(sheetText).join(',\n')}\n]}\n`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? kept(value) : value;
}
