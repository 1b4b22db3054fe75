import { summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import type { IngestionRun } from './measure.ts';
import type { ThreadGroup } from './thread-usage.ts';

/** Megabytes of 2^20 bytes. */
export const MEGABYTE = 1_048_576;
const PARTS: readonly ThreadGroup[] = ['main', 'extraction', 'embedder', 'index', 'rest'];

type Figure = (run: IngestionRun) => number;

/** Speed, CPU time and memory by workload: medians with the smallest and largest of the rounds. */
export function ingestionTables(runs: readonly IngestionRun[], boundOf: (workload: string) => number): TextTable[] {
  return [speedTable(runs), cpuTable(runs), memoryTable(runs, boundOf)];
}

function speedTable(runs: readonly IngestionRun[]): TextTable {
  const figures: [string, Figure, number][] = [
    ['documents/s', ({ documents, seconds }) => documents / seconds, 1],
    ['MB/s', ({ bytes, seconds }) => bytes / MEGABYTE / seconds, 2],
    ['chunks/s', ({ chunks, seconds }) => chunks / seconds, 0],
    ['seconds', ({ seconds }) => seconds, 1],
    ['upload, seconds', ({ uploadSeconds }) => uploadSeconds, 1],
  ];
  const size = (run: IngestionRun) => [String(run.documents), (run.bytes / MEGABYTE).toFixed(1), String(run.chunks)];
  return {
    title: 'IngestionRun',
    columns: ['', 'documents', 'MB', 'chunks', ...figures.map(([name]) => name)],
    rows: byWorkload(runs).map(([name, own]) => [
      name,
      ...own.slice(0, 1).flatMap(size),
      ...figures.map(([, figure, digits]) => formatSummary(summarize(own.map(figure)), digits)),
    ]),
  };
}

function cpuTable(runs: readonly IngestionRun[]): TextTable {
  const total: Figure = ({ cpuMs }) => PARTS.reduce((sum, part) => sum + cpuMs[part], 0);
  return {
    title: 'CPU of the service during ingestion, and what share of it each thread had',
    columns: ['', 'CPU seconds', 'CPU ms a document', ...PARTS.map((part) => `${part}, %`)],
    rows: byWorkload(runs).map(([name, own]) => [
      name,
      formatSummary(summarize(own.map((run) => total(run) / 1000)), 1),
      formatSummary(summarize(own.map((run) => total(run) / run.documents)), 1),
      ...PARTS.map((part) => formatSummary(summarize(own.map((run) => (100 * run.cpuMs[part]) / total(run))), 0)),
    ]),
  };
}

function memoryTable(runs: readonly IngestionRun[], boundOf: (workload: string) => number): TextTable {
  const figures: Figure[] = [
    ({ startBytes }) => startBytes,
    ({ uploadedBytes }) => uploadedBytes,
    ({ peakBytes }) => peakBytes,
    ({ peakBytes, startBytes }) => peakBytes - startBytes,
  ];
  return {
    title: 'Resident memory of all processes, MB',
    columns: ['', 'started', 'uploaded', 'peak', 'peak above the start', 'bound'],
    rows: byWorkload(runs).map(([name, own]) => [
      name,
      ...figures.map((figure) => formatSummary(summarize(own.map((run) => figure(run) / MEGABYTE)), 0)),
      String(boundOf(name)),
    ]),
  };
}

/** Main-thread activity without idle time, of profiled runs. */
export function mainTable(runs: readonly IngestionRun[]): TextTable {
  const profiles = runs.flatMap(({ workload, mainMs }) => (mainMs === undefined ? [] : [{ workload, mainMs }]));
  const kinds = [...new Set(profiles.flatMap(({ mainMs }) => Object.keys(mainMs)))].filter((kind) => kind !== 'idle');
  const busy = (mainMs: Record<string, number>) => kinds.reduce((sum, kind) => sum + (mainMs[kind] ?? 0), 0);
  return {
    title: 'The main thread, sampled: busy seconds, and what share of them went where, %',
    columns: ['', 'busy, s', 'idle, s', ...kinds],
    rows: profiles.map(({ workload, mainMs }) => [
      workload,
      (busy(mainMs) / 1000).toFixed(1),
      ((mainMs['idle'] ?? 0) / 1000).toFixed(1),
      ...kinds.map((kind) => ((100 * (mainMs[kind] ?? 0)) / busy(mainMs)).toFixed(1)),
    ]),
  };
}

function byWorkload(runs: readonly IngestionRun[]): [string, IngestionRun[]][] {
  return [...Map.groupBy(runs, ({ workload }) => workload)];
}
