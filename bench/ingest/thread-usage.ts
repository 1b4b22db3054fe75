import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of 10 ms on every architecture Node runs on. */
const TICK_MS = 10;

/** Parts of the service that have threads of their own, by the names of those. */
const PARTS: readonly (readonly [part: Part, names: RegExp])[] = [
  ['main', /^MainThread$/],
  ['embedder', /^embedding$/],
  ['index', /^(?:tokio|lance)/],
];

/** The process that reads a document, whose threads are all of extraction. */
const READER = /^quire-reader$/;

/** `main`: requests, chunking, SQL, what the index is given. `rest`: garbage collection and compiling, reading and writing of files. */
export type Part = 'main' | 'embedder' | 'extraction' | 'index' | 'rest';

/** CPU time of processes by part, in milliseconds, also of threads that have ended, as far as they were looked at before. */
export class ThreadUsage {
  readonly #threads = new Map<string, { part: Part; cpuMs: number }>();

  /** Looks at all threads that the processes have. Does nothing where there is no /proc. */
  read(pids: readonly number[]): void {
    for (const pid of pids) {
      // The first thread has the process's id, and its name.
      const isReader = READER.test(readThread(pid, String(pid))?.name ?? '');
      for (const id of threadsOf(pid)) {
        const thread = readThread(pid, id);
        if (thread === null) continue;
        const part = isReader ? 'extraction' : (PARTS.find(([, names]) => names.test(thread.name))?.[0] ?? 'rest');
        this.#threads.set(id, { part, cpuMs: thread.cpuMs });
      }
    }
  }

  /** What all threads had used when they were last looked at. */
  sums(): Record<Part, number> {
    const sums: Record<Part, number> = { main: 0, embedder: 0, extraction: 0, index: 0, rest: 0 };
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
    // It has ended since the folder was read.
    return null;
  }
}
