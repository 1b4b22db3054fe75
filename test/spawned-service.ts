/** The service as operators run it: a separate process, controlled by HTTP, signals and its command line. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createDatabase } from './database.ts';

export { until } from './deadline.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SERVICE_READY = /^Quire is ready at (\S+)/m;
const WORKER_READY = /^The Quire worker is ready(?: at (\S+))?$/m;
/** Guard for a hung start. Beside twenty other processes on two cores, a healthy start took more than 90 seconds. */
const START_GUARD_MS = 240_000;

/** Bootstrap key of every service started here. */
export const BOOTSTRAP_KEY = 'quire-sk-bootstrap-key-of-the-tests';

/** How a process ended; exactly one of the two is not null. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A completed command and its output. */
export interface CommandResult extends Ended {
  stdout: string;
  stderr: string;
}

/** Options of a start. */
export interface ServiceOptions {
  /** Additional variables, such as `QUIRE_UPSTREAM_URL`. `QUIRE_` variables of the shell are ignored. */
  env?: Record<string, string>;
  /** Data folder of an earlier service or an empty one (default: a new one). */
  dataDir?: string;
  /** Content of `quire.yaml`. */
  config?: string;
  /** Root of another version of the repository (default: this one). */
  root?: string;
  /** Arguments of npm, which starts the service then. `pid` and the signals are npm's; `ended` waits for both. */
  npm?: readonly string[];
}

/** A running service. */
export interface Service {
  /** Base URL without a path. */
  url: string;
  key: string;
  pid: number;
  dataDir: string;
  /** Output on stdout and stderr so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when the process has ended. */
  ended: Promise<Ended>;
  /** Lists its child processes, such as model hosts, without the embedded PostgreSQL. */
  children(): number[];
  signal(name: NodeJS.Signals): void;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<Ended>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<Ended>;
  /** Runs `quire ARGS` on its data folder. */
  quire(...args: string[]): Promise<CommandResult>;
}

const folders = new Set<string>();
const running = new Set<ChildProcess>();
// An interrupted test run must leave neither processes nor data behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Creates a data folder that is removed when the test process exits. */
export function newDataDir(): string {
  // Short: socket paths have at most 103 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'quire-'));
  folders.add(folder);
  return folder;
}

/**
 * Database URL of each data folder, so that all processes on the folder share it. The server of the test run removes
 * its databases.
 */
const databaseUrls = new Map<string, string>();
let isEmbedded = false;

/**
 * Makes the services and commands of this test file use the embedded database, as users do by default. Otherwise each
 * data folder has a database on the PostgreSQL server of the test run, which saves the time of a first start.
 */
export function useEmbeddedDatabases(): void {
  isEmbedded = true;
}

async function serviceEnvironment(dataDir: string, env: Record<string, string> = {}): Promise<Record<string, string>> {
  if (isEmbedded || 'QUIRE_DATABASE_URL' in env) return env;
  const url = databaseUrls.get(dataDir) ?? (await createDatabase()).url;
  databaseUrls.set(dataDir, url);
  return { QUIRE_DATABASE_URL: url, ...env };
}

/** Starts `quire serve` on a free port. Resolves when it is ready; rejects when it exits instead. */
export function startService(options: ServiceOptions = {}): Promise<Service> {
  return start('serve', SERVICE_READY, options);
}

/** Starts `quire api`, as `startService` starts `quire serve`. */
export function startApi(options: ServiceOptions): Promise<Service> {
  return start('api', SERVICE_READY, options);
}

/**
 * Starts `quire worker`; its `url` is empty without `QUIRE_WORKER_PORT`. Resolves when it is ready; rejects when it
 * exits instead.
 */
export function startWorker(options: ServiceOptions): Promise<Service> {
  return start('worker', WORKER_READY, options);
}

async function start(command: string, ready: RegExp, options: ServiceOptions): Promise<Service> {
  const dataDir = options.dataDir ?? newDataDir();
  if (options.config !== undefined) writeFileSync(join(dataDir, 'quire.yaml'), options.config);
  const launched = launch([command], dataDir, await serviceEnvironment(dataDir, options.env), options);
  const { child, stdout, stderr, ended } = launched;
  const url = await untilReady(launched, ready);
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  const endWith = (name: NodeJS.Signals) => {
    signal(name);
    return ended;
  };
  return {
    url,
    key: BOOTSTRAP_KEY,
    pid: child.pid as number,
    dataDir,
    stdout,
    stderr,
    ended,
    children: () => listChildren(child.pid as number),
    signal,
    stop: () => endWith('SIGTERM'),
    kill: () => endWith('SIGKILL'),
    quire: (...args) => runQuire(args, { ...options, dataDir }),
  };
}

/** Starts a service before the tests of a file and stops it afterwards. */
export function useService(options: ServiceOptions = {}): Service {
  const service = {} as Service;
  before(async () => {
    Object.assign(service, await startService(options));
  });
  after(() => service.kill?.());
  return service;
}

/**
 * Runs a `quire` command on a data folder in its own process, which gets `killSignal` (SIGKILL) after `killAfterMs`, or
 * when `killWhen` resolves, if set.
 */
export async function runQuire(
  args: readonly string[],
  options: ServiceOptions & {
    killAfterMs?: number;
    killWhen?: () => Promise<unknown>;
    killSignal?: NodeJS.Signals;
  } = {},
): Promise<CommandResult> {
  const dataDir = options.dataDir ?? newDataDir();
  const { child, stdout, stderr, ended } = launch(args, dataDir, await serviceEnvironment(dataDir, options.env), {
    ...(options.root !== undefined && { root: options.root }),
  });
  const kill =
    options.killAfterMs === undefined
      ? null
      : setTimeout(() => child.kill(options.killSignal ?? 'SIGKILL'), options.killAfterMs);
  void options.killWhen?.().then(() => child.kill(options.killSignal ?? 'SIGKILL'));
  const how = await ended;
  if (kill !== null) clearTimeout(kill);
  return { ...how, stdout: stdout(), stderr: stderr() };
}

function launch(
  args: readonly string[],
  dataDir: string,
  more: Record<string, string>,
  { npm, root = ROOT }: Pick<ServiceOptions, 'npm' | 'root'>,
) {
  const startFile = join(root, 'src/start.js');
  const [program, ...words] = npm === undefined ? [process.execPath, startFile, ...args] : ['npm', ...npm];
  const child = spawn(program, words, {
    // Runs in the data folder, so that no other `quire.yaml` is read.
    cwd: npm === undefined ? dataDir : ROOT,
    env: {
      ...environment(),
      QUIRE_DATA_DIR: dataDir,
      QUIRE_PORT: '0',
      QUIRE_BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      QUIRE_MODELS_PULL: 'never',
      QUIRE_RATE_LIMITS: 'off',
      // Two seconds per service, different in each run.
      QUIRE_LOCAL_CALIBRATION: 'off',
      ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]): Ended => {
    running.delete(child);
    return { code, signal };
  });
  return { child, stdout: () => written.stdout, stderr: () => written.stderr, ended };
}

/** Environment without settings and without variables of the test run. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('QUIRE_') && !name.startsWith('NODE_')),
  );
}

/** Waits for the line that reports readiness; returns its first group. */
async function untilReady({ child, stdout, stderr, ended }: ReturnType<typeof launch>, line: RegExp): Promise<string> {
  const guard = setTimeout(() => child.kill('SIGKILL'), START_GUARD_MS);
  const ready = new Promise<string>((resolve) => {
    child.stdout.on('data', () => {
      const match = line.exec(stdout());
      if (match !== null) resolve(match[1] ?? '');
    });
  });
  const failed = ended.then(({ code, signal }) => {
    throw new Error(`the process ended (${code ?? signal}) before it was ready: ${stdout()}${stderr()}`);
  });
  try {
    return await Promise.race([ready, failed]);
  } finally {
    clearTimeout(guard);
    failed.catch(() => {});
  }
}

function listChildren(pid: number): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,comm='], { encoding: 'utf8' });
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([, parent, name]) => Number(parent) === pid && name !== 'postgres')
    .map(([child]) => Number(child));
}

/** Kills processes by SIGKILL. Each may have ended already, because another one was killed. */
export function killProcesses(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Whether a process runs. Zombies count as exited. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}
