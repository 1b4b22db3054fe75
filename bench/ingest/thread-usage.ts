import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of 10 ms on every architecture Node runs on. */
const TICK_MS = 10;

/** Parts of the service that have threads of their own, by the names of those. */
const PARTS: readonly (readonly [part: Part, names: RegExp])[] = [
  ['main', /^MainThread$/],
  ['embedder', /^embedding$/],
  ['extraction', /^extraction$/],
  ['index', /^(?:tokio|lance)/],
];

/** `main`: requests, chunking, SQL, what the index is given. `rest`: garbage collection and compiling, reading and writing of files. */
export type Part = 'main' | 'embedder' | 'extraction' | 'index' | 'rest';

/** CPU time of a process by part, in milliseconds, also of threads that have ended, as far as they were looked at before. */
export class ThreadUsage {
  readonly #pid: number;
  readonly #threads = new Map<string, { part: Part; cpuMs: number }>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Looks at all threads that there are. Does nothing where there is no /proc. */
  read(): void {
    for (const id of threadsOf(this.#pid)) {
      const thread = readThread(this.#pid, id);
      if (thread !== null) this.#threads.set(id, thread);
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

function readThread(pid: number, id: string): { part: Part; cpuMs: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1');
    const end = text.lastIndexOf(')');
    const name = text.slice(text.indexOf('(') + 1, end);
    const fields = text.slice(end + 2).split(' ');
    const part = PARTS.find(([, names]) => names.test(name))?.[0] ?? 'rest';
    return { part, cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
  } catch {
    // It has ended since the folder was read.
    return null;
  }
}
