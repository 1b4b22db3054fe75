import { summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import type { ModelWindow } from './load.ts';
import type { ModelMemory } from './memory.ts';

const MEGABYTE = 1024 * 1024;

/**
 * Units per second, and CPU time per thousand units, of each contender; ratios of the first to the others, within a
 * round.
 */
export function speedTables(windows: readonly ModelWindow[]): TextTable[] {
  const names = [...new Set(windows.map(({ contender }) => contender))];
  const workloads = [...new Set(windows.map(({ workload }) => workload))];
  const values = (
    name: string,
    workload: string,
    key: 'unitsPerSecond' | 'cpuMsPer1000' | 'p50Ms',
  ): Map<number, number> =>
    new Map(
      windows
        .filter((window) => window.contender === name && window.workload === workload)
        .map((window) => [window.round, window[key] ?? Number.NaN]),
    );
  const [ours = '', ...others] = names;
  const table = (title: string, key: 'unitsPerSecond' | 'cpuMsPer1000' | 'p50Ms', digits: number): TextTable => ({
    title,
    columns: ['', ...names, ...others.map((name) => `${ours} / ${name}`)],
    rows: workloads.map((workload) => {
      const own = values(ours, workload, key);
      const ratio = (name: string): number[] =>
        [...values(name, workload, key)].map(([round, value]) => (own.get(round) ?? Number.NaN) / value);
      return [
        workload,
        ...names.map((name) => formatSummary(summarize([...values(name, workload, key).values()]), digits)),
        ...others.map((name) => formatSummary(summarize(ratio(name)), 3)),
      ];
    }),
  });
  return [
    table('Texts, pairs or characters per second', 'unitsPerSecond', 1),
    table('CPU ms for a thousand of them', 'cpuMsPer1000', 2),
    table('Time of a request, p50, ms', 'p50Ms', 1),
  ];
}

/** Resident memory, and its growth since the previous line. */
export function memoryTable(memory: readonly ModelMemory[]): TextTable {
  const rows = memory.map(({ what, bytes, more }) => [what, megabytes(bytes), megabytes(more)]);
  return { title: 'Resident memory, MB', columns: ['', 'all processes', 'more'], rows };
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? '-' : (bytes / MEGABYTE).toFixed(0);
}
