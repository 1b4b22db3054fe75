import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { CHECKOUT, runCommand, UsageError } from './command.ts';
import { requireDataFiles } from './data-set.ts';
import { countDifferences, type MetricTable, renderMetricTable, roundMetric } from './metric-table.ts';
import { connectService, type ServedBackend, type ServiceAddress, type ServiceClient } from './service-client.ts';

/** An evaluation of a running service. */
export interface Evaluation {
  /** As in `npm run eval:NAME`. */
  name: string;
  /** Model ids that the evaluation calls. */
  models: readonly string[];
  /** Files that must exist below the data folder. */
  files: readonly string[];
  /** Log level of a service that is started for the evaluation; `warn` by default. */
  logLevel?: 'debug';
  /** Yields one table after another. `data` is the data folder. */
  measure(service: ServiceClient, data: string): AsyncIterable<MetricTable>;
  /** Evaluations that `--through NAME` selects instead. */
  through?: Readonly<Record<string, Evaluation>>;
}

/** The stored result of an evaluation. */
interface EvaluationRun {
  at: string;
  backends: Record<string, ServedBackend>;
  tables: MetricTable[];
}

/**
 * Runs an evaluation as a command: parses the flags (`--data`, `--url` with `--key`, `--before`, `--same`, `--json`,
 * `--through`), starts or connects to a service, and prints each table beside the values of an earlier run.
 * Exit codes: 1 when `--same` finds a difference, 2 for a usage error.
 */
export function runEvaluation(evaluation: Evaluation): Promise<void> {
  return runCommand(() => run(evaluation));
}

async function run(named: Evaluation): Promise<void> {
  const { evaluation, ...flags } = parseFlags(named);
  const data = requireDataFiles(flags.data, evaluation.files);
  const before = readRun(flags.before);
  if (flags.same && before === null) throw new UsageError(`There is no earlier run to compare with: ${flags.before}`);
  const service = await connectService(parseAddress(flags), evaluation.logLevel);
  const tables: MetricTable[] = [];
  try {
    const backends: EvaluationRun['backends'] = {};
    for (const model of evaluation.models) backends[model] = await service.servedBackend(model);
    const earlier = before === null ? '' : `; "was": ${describeBackends(before.backends)}, ${before.at.slice(0, 10)}`;
    print(`${describeBackends(backends)}${earlier}\n`);
    for await (const table of evaluation.measure(service, data)) {
      tables.push(table);
      print(`${renderMetricTable(table, before?.tables)}\n`);
    }
    writeRun(flags.json, { at: new Date().toISOString(), backends, tables });
    if (flags.same) reportDifferences(tables, before?.tables ?? [], flags.before);
  } finally {
    await service.stop();
  }
}

function parseFlags(named: Evaluation) {
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
  if (evaluation === undefined) throw new UsageError(`There is no --through ${values.through} here.`);
  return { ...values, evaluation, ...resultFiles(evaluation.name, values) };
}

/** The files of the run to compare with and of this run: the flags, else `eval/baselines` and `.scratch/eval`. */
export function resultFiles(
  name: string,
  { before, json }: { before?: string | undefined; json?: string | undefined },
): { before: string; json: string } {
  return {
    before: before ?? join(CHECKOUT, `eval/baselines/${name}.json`),
    json: json ?? join(CHECKOUT, `.scratch/eval/${name}.json`),
  };
}

function reportDifferences(tables: readonly MetricTable[], before: readonly MetricTable[], file: string): void {
  const differences = tables.reduce((sum, table) => sum + countDifferences(table, before), 0);
  if (differences === 0) return;
  process.stderr.write(`${differences} figures differ from ${file}. If the weights are new, store this run there.\n`);
  process.exitCode = 1;
}

function parseAddress({
  url,
  key,
}: {
  url?: string | undefined;
  key?: string | undefined;
}): ServiceAddress | undefined {
  if (url === undefined) return undefined;
  if (key === undefined) throw new UsageError('--url needs --key, a key of that service with the scope inference.');
  return { url, key };
}

/** Reads a stored run; null when there is no such file. */
export function readRun(file: string): EvaluationRun | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as EvaluationRun) : null;
}

function describeBackends(backends: EvaluationRun['backends']): string {
  return Object.entries(backends)
    .map(([id, { engine, model }]) => `${id}: ${model} (${engine})`)
    .join(', ');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Stores a run with one table row per line, so that diffs of a baseline show the changed rows. */
export function writeRun(file: string, { tables, ...facts }: EvaluationRun): void {
  const writeTable = ({ rows, ...table }: MetricTable): string => {
    const lines = rows.map((row) => `   ${JSON.stringify(row, roundNumbers)}`).join(',\n');
    return `  ${JSON.stringify(table).slice(0, -1)},"rows":[\n${lines}\n  ]}`;
  };
  const text = `${JSON.stringify(facts).slice(0, -1)},"tables":[\n${tables.map(writeTable).join(',\n')}\n]}\n`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? roundMetric(value) : value;
}
