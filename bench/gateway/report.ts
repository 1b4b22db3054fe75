import { BENCH_RATE_LIMITS } from '../harness/quire-process.ts';
import { type Summary, summarize } from '../harness/statistics.ts';
import type { ContenderName, GatewayContender } from './contenders.ts';
import type { AddedLatency, Measurements, Throughput } from './measure.ts';

/** Targets of the project: Quire in front of a mock upstream, with authentication and usage recording. */
const AIMS = { timesPortkeyAt32: 10, shareOfBare: 0.6, addedP50Ms: 1, addedP99Ms: 5 };
const AIM_CONNECTIONS = 32;
const BYTES_PER_MB = 1e6;

/** One row of the comparison with the targets. */
export interface TargetRow {
  aim: string;
  figure: Summary;
  met: boolean;
}

/** Aggregated figures, for the terminal and for JSON. */
export interface Report {
  tables: { title: string; columns: string[]; rows: string[][] }[];
  aims: TargetRow[];
  errorCount: number;
  errors: string[];
}

/** Aggregates all rounds into tables: median (smallest..largest). */
export function buildReport(contenders: GatewayContender[], found: Measurements): Report {
  const gateways = contenders.filter((contender) => contender.name !== 'direct');
  const errors = [
    ...found.latency.flatMap((entry) => entry.errors.map((text) => `${entry.contender}: ${text}`)),
    ...found.throughput.flatMap((entry) => entry.errors.map((text) => `${entry.contender}: ${text}`)),
  ];
  const errorCount =
    found.latency.reduce((sum, entry) => sum + entry.errors.length, 0) +
    found.throughput.reduce((sum, entry) => sum + entry.errorCount, 0);
  return {
    tables: [
      latencyTable(gateways, found.latency),
      loadTable(
        'Requests per second',
        { contenders, throughput: found.throughput },
        (entry) => entry.requestsPerSecond,
        0,
      ),
      loadTable(
        'CPU ms per 1000 requests (the process itself)',
        { contenders, throughput: found.throughput },
        (entry) => entry.cpuMsPer1000,
        0,
      ),
      loadTable('Latency under load, p50 ms', { contenders, throughput: found.throughput }, (entry) => entry.p50Ms, 2),
      loadTable('Latency under load, p99 ms', { contenders, throughput: found.throughput }, (entry) => entry.p99Ms, 2),
      memoryTable(contenders, found),
    ],
    aims: aimLines(found),
    errorCount,
    errors: [...new Set(errors)],
  };
}

/** Renders the report as text. */
export function printReport(report: Report): string {
  const tables = report.tables.map(({ title, columns, rows }) => {
    const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
    const line = (cells: string[]) =>
      cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   ');
    return [title, line(columns), ...rows.map(line)].join('\n');
  });
  const aims = report.aims.map(({ aim, figure, met }) => `${met ? 'met   ' : 'MISSED'} ${aim}: ${cell(figure, 2)}`);
  const errors = [`errors: ${report.errorCount}`, ...report.errors.slice(0, 10).map((text) => `  ${text}`)];
  const settings = `Quire: authentication and usage recording on, rate limits ${BENCH_RATE_LIMITS}`;
  return [settings, ...tables, ['Aims', ...aims].join('\n'), errors.join('\n')].join('\n\n');
}

function cell(summary: Summary, digits: number): string {
  if (Number.isNaN(summary.median)) return '-';
  const [median, min, max] = [summary.median, summary.min, summary.max].map((value) => value.toFixed(digits));
  return `${median} (${min}..${max})`;
}

function latencyTable(gateways: GatewayContender[], latency: AddedLatency[]): Report['tables'][number] {
  const measures: [string, boolean, (entry: AddedLatency) => number][] = [
    ['whole p50', false, (entry) => entry.addedP50Ms],
    ['whole p99', false, (entry) => entry.addedP99Ms],
    ['stream: first event p50', true, (entry) => entry.addedFirstByteP50Ms],
    ['first event p99', true, (entry) => entry.addedFirstByteP99Ms],
    ['whole p50', true, (entry) => entry.addedP50Ms],
    ['whole p99', true, (entry) => entry.addedP99Ms],
  ];
  return {
    title: 'Sequential latency added to the direct answer, ms',
    columns: ['', ...measures.map(([name]) => name)],
    rows: gateways.map(({ name, label }) => [
      label,
      ...measures.map(([, stream, figure]) => {
        const entries = latency.filter((entry) => entry.contender === name && entry.stream === stream);
        return cell(summarize(entries.map(figure)), 2);
      }),
    ]),
  };
}

function loadTable(
  title: string,
  { contenders, throughput }: { contenders: GatewayContender[]; throughput: Throughput[] },
  figure: (entry: Throughput) => number,
  digits: number,
): Report['tables'][number] {
  const connections = [...new Set(throughput.map((entry) => entry.connections))];
  const cells = [false, true].flatMap((stream) => connections.map((count) => ({ stream, count })));
  return {
    title,
    columns: ['', ...cells.map(({ stream, count }) => `${count}${stream ? ' streamed' : ''}`)],
    rows: contenders.map(({ name, label }) => [
      label,
      ...cells.map(({ stream, count }) => {
        const entries = throughput.filter(
          (entry) => entry.contender === name && entry.stream === stream && entry.connections === count,
        );
        return cell(summarize(entries.map(figure)), digits);
      }),
    ]),
  };
}

function memoryTable(contenders: GatewayContender[], found: Measurements): Report['tables'][number] {
  const megabytes = (bytes: number | undefined) => (bytes === undefined ? '-' : (bytes / BYTES_PER_MB).toFixed(0));
  return {
    title: 'Resident memory, MB',
    columns: ['', 'before', 'after', 'peak'],
    rows: contenders.map(({ name, label }) => {
      const entry = found.memory.find((candidate) => candidate.contender === name);
      return [label, megabytes(entry?.beforeBytes), megabytes(entry?.afterBytes), megabytes(entry?.peakBytes)];
    }),
  };
}

/** Ratios are computed per round and then aggregated: both sides had the same machine state. */
function aimLines(found: Measurements): TargetRow[] {
  if (!found.throughput.some((entry) => entry.contender === 'quire')) return [];
  if (found.throughput.some((entry) => entry.contender === 'all')) return featureAims(found);
  const lines: TargetRow[] = [];
  for (const stream of [false, true]) {
    const kind = stream ? 'streamed' : 'not streamed';
    const portkey = ratios(found.throughput, 'quire', 'portkey', stream);
    const bare = ratios(found.throughput, 'quire', 'bare', stream);
    lines.push(
      atLeast(`requests/s at ${AIM_CONNECTIONS}, ${kind}, times Portkey`, portkey, AIMS.timesPortkeyAt32),
      atLeast(`requests/s at ${AIM_CONNECTIONS}, ${kind}, share of the bare proxy`, bare, AIMS.shareOfBare),
    );
    const added = found.latency.filter((entry) => entry.contender === 'quire' && entry.stream === stream);
    const p50 = stream ? 'addedFirstByteP50Ms' : 'addedP50Ms';
    const p99 = stream ? 'addedFirstByteP99Ms' : 'addedP99Ms';
    const name = stream ? 'added to the first event' : 'added';
    lines.push(
      below(
        `${name}, ${kind}, p50 ms`,
        added.map((entry) => entry[p50]),
        AIMS.addedP50Ms,
      ),
      below(
        `${name}, ${kind}, p99 ms`,
        added.map((entry) => entry[p99]),
        AIMS.addedP99Ms,
      ),
    );
  }
  return lines;
}

/** Targets of the features together: throughput and latency beside the service without them. */
function featureAims({ throughput, latency }: Measurements): TargetRow[] {
  const p50 = (contender: ContenderName, round: number): number =>
    latency.find((entry) => entry.contender === contender && entry.round === round && !entry.stream)?.p50Ms ??
    Number.NaN;
  const rounds = [...new Set(latency.map(({ round }) => round))];
  const shares = ratios(throughput, 'all', 'quire', false);
  const added = rounds.map((round) => p50('all', round) - p50('quire', round));
  return [
    atLeast(`requests/s at ${AIM_CONNECTIONS} with all features, share of those without`, shares, 0.75),
    below('added by all features, p50 ms', added, 1),
  ];
}

/** Requests per second of one contender relative to another, by round. */
function ratios(throughput: Throughput[], contender: ContenderName, against: ContenderName, stream: boolean): number[] {
  const of = (name: ContenderName, round: number) =>
    throughput.find(
      (entry) =>
        entry.contender === name &&
        entry.round === round &&
        entry.stream === stream &&
        entry.connections === AIM_CONNECTIONS,
    )?.requestsPerSecond ?? Number.NaN;
  const rounds = [...new Set(throughput.map((entry) => entry.round))];
  return rounds.map((round) => of(contender, round) / of(against, round));
}

function atLeast(what: string, values: number[], aim: number): TargetRow {
  const figure = summarize(values);
  return { aim: `${what} (aim >= ${aim})`, figure, met: figure.median >= aim };
}

function below(what: string, values: number[], aim: number): TargetRow {
  const figure = summarize(values);
  return { aim: `${what} (aim < ${aim})`, figure, met: figure.median < aim };
}
