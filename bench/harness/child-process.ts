import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Time between SIGTERM and SIGKILL. Quire drains for up to 30 s, but no request runs by then. */
const STOP_LIMIT_MS = 10_000;
/** Characters of output that are kept for error messages. */
const OUTPUT_LIMIT_CHARS = 4_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** How to start a child process. */
export interface ChildOptions {
  name: string;
  /** Arguments of Node.js, or of `program`. */
  nodeArgs: string[];
  /** Path of a program other than this Node.js. */
  program?: string;
  env?: Record<string, string>;
  cwd?: string;
  /** Matches the output when the process is ready. The first group, if any, is the origin. */
  ready: RegExp;
  readyLimitMs: number;
  /** Receives stdout and stderr as they arrive. */
  onOutput?: ((text: string) => void) | undefined;
}

/** A child process that is ready. */
export interface RunningChild {
  pid: number;
  /** The first group of `ready`, or ''. */
  origin: string;
  /** The last characters of stdout and stderr. */
  output(): string;
  /** True once the process has exited. */
  ended(): boolean;
  stop(): Promise<void>;
}

/** Starts a process and waits until it is ready. Rejects with its output when it exits or times out. */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const child = spawn(options.program ?? process.execPath, options.nodeArgs, {
    cwd: options.cwd,
    env: { ...inheritedEnv(), NODE_ENV: 'production', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let output = '';
  const origin = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${options.name} was not ready within ${options.readyLimitMs} ms:\n${output}`));
    }, options.readyLimitMs);
    const take = (text: Buffer) => {
      options.onOutput?.(text.toString('utf8'));
      output = (output + text.toString('utf8')).slice(-OUTPUT_LIMIT_CHARS);
      const found = options.ready.exec(output);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1] ?? '');
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      reject(new Error(`${options.name} ended (${code ?? signal}) before it was ready:\n${output}`));
    });
  });
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  return { pid: child.pid ?? 0, origin, output: () => output, ended, stop: () => stop(child) };
}

/** The environment without settings of Quire, npm and proxies: benchmarks start from the defaults. */
function inheritedEnv(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(QUIRE_|npm_|NODE_OPTIONS$|(https?|no|all)_proxy$)/i.test(name),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? '']));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}
