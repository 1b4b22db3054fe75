import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of 10 ms on every architecture that Node.js supports. */
const TICK_MS = 10;
const PAGE_BYTES = 4096;

interface ProcessStat {
  parentPid: number;
  cpuMs: number;
  rssBytes: number;
}

/** CPU time (user and system) and resident memory, summed over processes. */
export interface ProcessUsage {
  cpuMs: number;
  rssBytes: number;
}

/** The process ids of `pid` and its descendants; only `pid` on systems without /proc. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const [childPid, stat] of allProcesses()) {
    children.set(stat.parentPid, [...(children.get(stat.parentPid) ?? []), childPid]);
  }
  const tree = [pid];
  for (const member of tree) tree.push(...(children.get(member) ?? []));
  return tree;
}

/** Total usage of the processes; undefined on systems without /proc. */
export function processUsage(pids: number[]): ProcessUsage | undefined {
  const stats = pids.map(readStat).filter((stat) => stat !== undefined);
  if (stats.length === 0) return undefined;
  return {
    cpuMs: stats.reduce((sum, stat) => sum + stat.cpuMs, 0),
    rssBytes: stats.reduce((sum, stat) => sum + stat.rssBytes, 0),
  };
}

function allProcesses(): [number, ProcessStat][] {
  if (process.platform !== 'linux') return [];
  const found: [number, ProcessStat][] = [];
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat) found.push([Number(name), stat]);
  }
  return found;
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the process name in parentheses, which may contain spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (index: number) => Number(fields[index]);
    return { parentPid: at(1), cpuMs: (at(11) + at(12) + at(13) + at(14)) * TICK_MS, rssBytes: at(21) * PAGE_BYTES };
  } catch {
    // Not Linux, or the process has exited.
    return undefined;
  }
}

/** Memory of one process. */
export interface ProcessMemory {
  pid: number;
  command: string;
  /** Proportional set size: pages shared by n processes count 1/n in each. */
  pssBytes: number;
}

/** PSS of each process that still runs, from /proc; empty where there is none. */
export function processMemory(pids: number[]): ProcessMemory[] {
  return pids.flatMap((pid) => {
    try {
      const kilobytes = Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]);
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      return [{ pid, command, pssBytes: kilobytes * 1024 }];
    } catch {
      return [];
    }
  });
}
