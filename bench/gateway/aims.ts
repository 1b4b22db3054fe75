import { type Summary, summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import type { ContenderName } from './contenders.ts';
import type { AddedLatency, Measurements, Throughput } from './measure.ts';
import { PROTOCOLS } from './protocols.ts';

/**
 * Targets of issue 14, part 5, at 32 connections: Quire in front of a mock upstream, with authentication, usage records
 * and limits.
 */
const GATEWAY_AIMS = {
  timesPortkey: 4,
  shareOfBare: 0.5,
  shareOfBareStreamed: 0.7,
  mainCpuMsPer1000: 180,
  addedP50Ms: 0.8,
  p99TimesP50: 3,
} as const;
/** Targets of issue 15: all features on, beside the service without them. */
const FEATURE_AIMS = { shareOfPlain: 0.75, addedP50Ms: 1 } as const;
/** Target of issue 28: the CPU time of a translated call beside that of a chat completion. */
const PROTOCOL_AIMS = { cpuRatio: 1.1 } as const;
const CONNECTIONS = 32;
/** Connections of the target for the p99 under load. */
const MANY_CONNECTIONS = 256;

/** A figure beside its target. */
export interface TargetRow {
  aim: string;
  figure: Summary;
  met: boolean;
}

/**
 * Compares the figures with the targets: of the features when all of them were measured, of the gateway otherwise.
 * Ratios are computed per round, when both sides had the same machine state.
 */
export function compareWithAims(found: Measurements): TargetRow[] {
  const has = (name: ContenderName) => found.throughput.some(({ contender }) => contender === name);
  if (!has('quire')) return [];
  if (has('again')) return protocolAims(found);
  return has('all') ? featureAims(found) : gatewayAims(found);
}

/** Renders the comparison as a table. */
export function aimsTable(rows: readonly TargetRow[]): TextTable {
  return {
    title: 'Targets',
    columns: ['', 'figure', ''],
    rows: rows.map(({ aim, figure, met }) => [aim, formatSummary(figure, 2), met ? 'met' : 'MISSED']),
  };
}

/** What each feature costs beside the service without it, at 32 connections and one request at a time. */
export function featureCosts(names: readonly { name: ContenderName; label: string }[], found: Measurements): TextTable {
  const cpu = (entry: Throughput) => entry.mainCpuMsPer1000;
  return {
    title: `Cost of each feature beside the service without them, ${CONNECTIONS} connections, not streamed`,
    columns: ['', 'share of requests/s', 'added CPU ms per 1000, main process', 'added p50 ms, one at a time'],
    rows: names.map(({ name, label }) => {
      const cpuMs = byRound(found, name, cpu).map(
        (value, at) => value - (byRound(found, 'quire', cpu)[at] ?? Number.NaN),
      );
      return [
        label,
        formatSummary(summarize(ratios(found, name, 'quire', false)), 2),
        formatSummary(summarize(cpuMs), 0),
        formatSummary(summarize(addedBeside(found, name, 'quire')), 2),
      ];
    }),
  };
}

function gatewayAims(found: Measurements): TargetRow[] {
  const many = found.throughput.filter(
    (entry) => entry.contender === 'quire' && entry.connections === MANY_CONNECTIONS,
  );
  return [
    ...[false, true].flatMap((stream) => loadAims(found, stream)),
    atMost(
      `CPU ms per 1000 calls at ${CONNECTIONS}, main process`,
      byRound(found, 'quire', (entry) => entry.mainCpuMsPer1000),
      GATEWAY_AIMS.mainCpuMsPer1000,
    ),
    latencyAim(found, 'added p50 ms, one call at a time', false, (entry) => entry.addedP50Ms),
    latencyAim(found, 'added p50 ms to the first event of a stream', true, (entry) => entry.addedFirstByteP50Ms),
    atMost(
      `p99 at ${MANY_CONNECTIONS}, times p50`,
      many.filter(({ stream }) => !stream).map(({ p99Ms, p50Ms }) => p99Ms / p50Ms),
      GATEWAY_AIMS.p99TimesP50,
    ),
  ];
}

function loadAims(found: Measurements, stream: boolean): TargetRow[] {
  const what = `requests/s at ${CONNECTIONS}${stream ? ', streamed' : ''}`;
  const share = stream ? GATEWAY_AIMS.shareOfBareStreamed : GATEWAY_AIMS.shareOfBare;
  return [
    atLeast(`${what}, share of the bare proxy`, ratios(found, 'quire', 'bare', stream), share),
    atLeast(`${what}, times Portkey`, ratios(found, 'quire', 'portkey', stream), GATEWAY_AIMS.timesPortkey),
  ];
}

function latencyAim(
  { latency }: Measurements,
  what: string,
  stream: boolean,
  figure: (entry: AddedLatency) => number,
): TargetRow {
  const entries = latency.filter((entry) => entry.contender === 'quire' && entry.stream === stream);
  return atMost(what, entries.map(figure), GATEWAY_AIMS.addedP50Ms);
}

function protocolAims(found: Measurements): TargetRow[] {
  const cpu = (name: ContenderName, stream: boolean) =>
    windows(found, name, stream).map(({ mainCpuMsPer1000 }) => mainCpuMsPer1000);
  const rows = Object.entries(PROTOCOLS).filter(([name]) => name !== 'quire') as [ContenderName, { label: string }][];
  return rows.flatMap(([name, { label }]) =>
    [false, true].map((stream) => {
      const plain = cpu('quire', stream);
      const shares = cpu(name, stream).map((value, at) => value / (plain[at] ?? Number.NaN));
      const what = `CPU of ${label}${stream ? ', streamed' : ''}, times that of a chat completion`;
      return atMost(what, shares, PROTOCOL_AIMS.cpuRatio);
    }),
  );
}

function featureAims(found: Measurements): TargetRow[] {
  const { shareOfPlain, addedP50Ms } = FEATURE_AIMS;
  const shares = ratios(found, 'all', 'quire', false);
  return [
    atLeast(`requests/s at ${CONNECTIONS} with all features, share of those without`, shares, shareOfPlain),
    atMost('added p50 ms by all features, one call at a time', addedBeside(found, 'all', 'quire'), addedP50Ms),
  ];
}

/** A figure of one contender at 32 connections, not streamed, by round. */
function byRound(found: Measurements, contender: ContenderName, figure: (entry: Throughput) => number): number[] {
  return windows(found, contender, false).map(figure);
}

/** Requests per second of one contender relative to another, by round. */
function ratios(found: Measurements, contender: ContenderName, against: ContenderName, stream: boolean): number[] {
  const others = windows(found, against, stream);
  return windows(found, contender, stream).map(
    (entry, at) => entry.requestsPerSecond / (others[at]?.requestsPerSecond ?? Number.NaN),
  );
}

/** p50 of one contender minus that of another, one request at a time, by round. */
function addedBeside({ latency }: Measurements, contender: ContenderName, against: ContenderName): number[] {
  const p50s = (name: ContenderName) => latency.filter((entry) => entry.contender === name && !entry.stream);
  const others = p50s(against);
  return p50s(contender).map((entry, at) => entry.p50Ms - (others[at]?.p50Ms ?? Number.NaN));
}

/** The windows of a contender at 32 connections in the order of rounds. */
function windows({ throughput }: Measurements, contender: ContenderName, stream: boolean): Throughput[] {
  return throughput
    .filter((entry) => entry.contender === contender && entry.stream === stream && entry.connections === CONNECTIONS)
    .sort((a, b) => a.round - b.round);
}

function atLeast(what: string, values: readonly number[], aim: number): TargetRow {
  const figure = summarize(values);
  return { aim: `${what} (>= ${aim})`, figure, met: figure.median >= aim };
}

function atMost(what: string, values: readonly number[], aim: number): TargetRow {
  const figure = summarize(values);
  return { aim: `${what} (<= ${aim})`, figure, met: figure.median <= aim };
}
