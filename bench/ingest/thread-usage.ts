import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of 10 ms on every architecture Node runs on. */
const TICK_MS = 10;

/** Thread groups by thread name. */
const PARTS: readonly (readonly [part: ThreadGroup, names: RegExp])[] = [
  ['main', /^MainThread$/],
  ['embedder', /^embedding$/],
  ['index', /^(?:tokio|lance)/],
];

/** Reader processes, all threads of which belong to extraction. */
const READER = /^quire-reader$/;

/** `main`: requests, chunking, SQL, index input. `rest`: garbage collection, compilation, file I/O. */
export type ThreadGroup = 'main' | 'embedder' | 'extraction' | 'index' | 'rest';

/** CPU milliseconds of processes by thread group, including sampled threads that have ended. */
export class ThreadUsage {
  readonly #threads = new Map<string, { part: ThreadGroup; cpuMs: number }>();

  /** Samples all threads of the processes. Does nothing without /proc. */
  read(pids: readonly number[]): void {
    for (const pid of pids) {
      // The first thread has the id and the name of the process.
      const isReader = READER.test(readThread(pid, String(pid))?.name ?? '');
      for (const id of threadsOf(pid)) {
        const thread = readThread(pid, id);
        if (thread === null) continue;
        const part = isReader ? 'extraction' : (PARTS.find(([, names]) => names.test(thread.name))?.[0] ?? 'rest');
        this.#threads.set(id, { part, cpuMs: thread.cpuMs });
      }
    }
  }

  /** CPU time of all threads at their last sample. */
  sums(): Record<ThreadGroup, number> {
    const sums: Record<ThreadGroup, number> = { main: 0, embedder: 0, extraction: 0, index: 0, rest: 0 };
    for (const { part, cpuMs } of this.#threads.values()) sums[part] += cpuMs;
    return sums;
  }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readThread(pid: number, id: string): { name: string; cpuMs: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1');
    const end = text.lastIndexOf(')');
    const name = text.slice(text.indexOf('(') + 1, end);
    const fields = text.slice(end + 2).split(' ');
    return { name, cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
  } catch {
    // The thread has ended meanwhile.
    return null;
  }
}
