/**
 * Time from the start of the process to the first `GET /readyz` with 200, and memory of every process when idle.
 * `npm run bench:start -- [--rounds N] [--idle SECONDS] [--root CHECKOUT] [--json FILE]`; see bench/README.md.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startChild } from '../harness/child-process.ts';
import { processMemory, processTree, processUsage } from '../harness/process-usage.ts';

const ROOT = join(import.meta.dirname, '../..');
const READY_LIMIT_MS = 180_000;
const POLL_MS = 5;
const BYTES_PER_MB = 1_048_576;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    idle: { type: 'string', default: '5' },
    root: { type: 'string', default: ROOT },
    json: { type: 'string', default: join(ROOT, '.scratch/bench/start.json') },
  },
});
const rounds = Number(flags.rounds);
const idleMs = Number(flags.idle) * 1000;

/** One start. */
interface Start {
  kind: 'first' | 'warm';
  readySeconds: number;
  /** Of all processes until ready: unlike the time, hardly affected by other load on the machine. */
  cpuSeconds: number;
  /** Proportional set size in MB by kind of process, after the idle time. */
  pssMb: Record<string, number>;
}

async function measureStart(kind: Start['kind'], dataDir: string): Promise<Start> {
  const startedAt = performance.now();
  const child = await startChild({
    name: 'Quire',
    nodeArgs: [join(resolve(flags.root), 'src/start.js'), 'serve'],
    cwd: dirname(dataDir),
    env: { QUIRE_DATA_DIR: dataDir, QUIRE_PORT: '0', QUIRE_MODELS_PULL: 'never', QUIRE_LOG_LEVEL: 'warn' },
    ready: /Quire is ready at (http:\/\/127\.0\.0\.1:\d+)/,
    readyLimitMs: READY_LIMIT_MS,
  });
  try {
    while ((await fetch(`${child.origin}/readyz`)).status !== 200) await delay(POLL_MS);
    const readySeconds = (performance.now() - startedAt) / 1000;
    const cpuSeconds = (processUsage(processTree(child.pid))?.cpuMs ?? 0) / 1000;
    await delay(idleMs);
    return { kind, readySeconds, cpuSeconds, pssMb: memoryByKind(child.pid) };
  } finally {
    await child.stop();
  }
}

/** PSS in MB: the service, the processes of PostgreSQL together, the model hosts together. */
function memoryByKind(pid: number): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { pid: member, command, pssBytes } of processMemory(processTree(pid))) {
    const kind = member === pid ? 'service' : command.includes('postgres') ? 'postgres' : 'model hosts and readers';
    sums[kind] = (sums[kind] ?? 0) + pssBytes / BYTES_PER_MB;
  }
  return { ...sums, total: Object.values(sums).reduce((sum, mb) => sum + mb, 0) };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function summarize(starts: readonly Start[]): Record<string, string> {
  const columns: [string, (start: Start) => number, number][] = [
    ['ready s', (start) => start.readySeconds, 2],
    ['CPU s', (start) => start.cpuSeconds, 2],
    ...[...new Set(starts.flatMap(({ pssMb }) => Object.keys(pssMb)))].map(
      (kind): [string, (start: Start) => number, number] => [`${kind} MB`, ({ pssMb }) => pssMb[kind] ?? 0, 0],
    ),
  ];
  return Object.fromEntries(
    columns.map(([name, read, digits]) => {
      const values = starts.map(read);
      const show = (value: number) => value.toFixed(digits);
      return [name, `${show(median(values))} (${show(Math.min(...values))}..${show(Math.max(...values))})`];
    }),
  );
}

const starts: Start[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const folder = await mkdtemp(join(tmpdir(), 'quire-start-'));
  try {
    for (const kind of ['first', 'warm'] as const) {
      const start = await measureStart(kind, join(folder, 'data'));
      starts.push(start);
      process.stderr.write(`round ${round} ${kind}: ready after ${start.readySeconds.toFixed(2)} s\n`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
const table = Object.fromEntries(
  (['first', 'warm'] as const).map((kind) => [kind, summarize(starts.filter((start) => start.kind === kind))]),
);
console.table(table);
await mkdir(dirname(flags.json), { recursive: true });
await writeFile(flags.json, `${JSON.stringify({ rounds, starts }, null, 2)}\n`);
