import { BENCH_RATE_LIMITS } from '../harness/quire-process.ts';
import { summarize } from '../harness/statistics.ts';
import { formatSummary, renderTable, type TextTable } from '../harness/text-table.ts';
import { aimsTable, compareWithAims, featureCosts, type TargetRow } from './aims.ts';
import type { GatewayContender } from './contenders.ts';
import type { AddedLatency, Measurements, Throughput } from './measure.ts';

const BYTES_PER_MB = 1e6;

/** Aggregated figures, for the terminal and for JSON. */
export interface Report {
  tables: TextTable[];
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
  const load = (title: string, figure: (entry: Throughput) => number, digits: number) =>
    loadTable(title, contenders, found.throughput, (entries) => formatSummary(summarize(entries.map(figure)), digits));
  const features = gateways.filter(({ name }) => name !== 'quire');
  const aims = compareWithAims(found);
  return {
    tables: [
      latencyTable(gateways, found.latency),
      load('Requests per second', (entry) => entry.requestsPerSecond, 0),
      load('CPU ms per 1000 requests, all processes', (entry) => entry.cpuMsPer1000, 0),
      load('CPU ms per 1000 requests, main process', (entry) => entry.mainCpuMsPer1000, 0),
      load('Latency under load, p50 ms', (entry) => entry.p50Ms, 2),
      load('Latency under load, p99 ms', (entry) => entry.p99Ms, 2),
      memoryTable(contenders, found),
      ...(features.some(({ name }) => name === 'all') ? [featureCosts(features, found)] : []),
      ...(aims.length > 0 ? [aimsTable(aims)] : []),
    ],
    aims,
    errorCount,
    errors: [...new Set(errors)],
  };
}

/** Renders the report as text. */
export function printReport(report: Report): string {
  const errors = [`errors: ${report.errorCount}`, ...report.errors.slice(0, 10).map((text) => `  ${text}`)];
  const settings = `Quire: authentication and usage recording on, rate limits ${BENCH_RATE_LIMITS}`;
  return [settings, ...report.tables.map(renderTable), errors.join('\n')].join('\n\n');
}

function latencyTable(gateways: GatewayContender[], latency: AddedLatency[]): TextTable {
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
        return formatSummary(summarize(entries.map(figure)), 2);
      }),
    ]),
  };
}

function loadTable(
  title: string,
  contenders: GatewayContender[],
  throughput: Throughput[],
  format: (entries: Throughput[]) => string,
): TextTable {
  const connections = [...new Set(throughput.map((entry) => entry.connections))];
  const cells = [false, true].flatMap((stream) => connections.map((count) => ({ stream, count })));
  return {
    title,
    columns: ['', ...cells.map(({ stream, count }) => `${count}${stream ? ' streamed' : ''}`)],
    rows: contenders.map(({ name, label }) => [
      label,
      ...cells.map(({ stream, count }) =>
        format(
          throughput.filter(
            (entry) => entry.contender === name && entry.stream === stream && entry.connections === count,
          ),
        ),
      ),
    ]),
  };
}

function memoryTable(contenders: GatewayContender[], found: Measurements): TextTable {
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
