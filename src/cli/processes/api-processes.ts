import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.ts';
import type { EngineHost } from '../../engines/remote/engine-host.ts';
import type { ProcessStatus } from '../../health/engine-schema.ts';
import { residentBytes } from '../../health/resident-bytes.ts';
import type { Logger } from '../../lib/logger.ts';
import { type MetricsSnapshot, renderSnapshots } from '../../lib/metrics.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { restartDelayMs } from '../../lib/restart-delay.ts';
import { RpcPeer } from '../../lib/rpc-peer.ts';
import { socketPath } from '../command-client.ts';
import {
  type FailedInput,
  type HelloInput,
  type HelloResult,
  PROCESS_SOCKET,
  type ReadyInput,
  type ReloadInput,
} from './process-calls.ts';

const MODULE = fileURLToPath(new URL('./api-process.js', import.meta.url));
/** A process that has been ready for this long had started well: the backoff begins again. */
const STABLE_MS = 60_000;
/** Time limit of the metrics and of a reload of one process. */
const CALL_TIMEOUT_MS = 3_000;
/** Time in which a drained process flushes and closes its connections. Then it is killed. */
const CLOSE_MS = 15_000;

/** What API processes are started with, and what the main process tells them. */
export interface ApiProcessesOptions {
  /** The configuration in force, after reloads. */
  config(): Config;
  socketFolder: string | null;
  logger: Logger;
  engines: EngineHost;
  /** The metrics of this process. */
  metrics(): Promise<MetricsSnapshot>;
  /** State of the model download of the first start. */
  modelsPull(): unknown;
  /** Time that a process has to drain. */
  drainMs: number;
}

/** One of the processes. It has a number in its name, which its successors inherit. */
interface ApiProcess {
  name: string;
  child: ChildProcess | null;
  peer: RpcPeer | null;
  /** Settled by `ready`, or by the end of the process. */
  ready: PromiseWithResolvers<void>;
  isReady: boolean;
  readyAtMs: number;
  failure: string | null;
  failures: number;
  restarts: number;
  timer: NodeJS.Timeout | undefined;
}

/** Runs the processes that serve the API, restarts those that end, and serves their calls on a socket. */
export class ApiProcesses {
  readonly #options: ApiProcessesOptions;
  readonly #server: Server;
  readonly #path: string;
  readonly #processes: ApiProcess[] = [];
  #port: number;
  #hasStarted = false;
  #stopping: Promise<void> | null = null;

  private constructor(options: ApiProcessesOptions) {
    this.#options = options;
    const { dataDir, port } = options.config();
    this.#port = port;
    this.#path = socketPath(dataDir, PROCESS_SOCKET);
    this.#server = createServer((socket) => this.#connect(socket));
  }

  /** Starts the processes. Resolves when all listen; throws an `OperatorError` when one cannot start. */
  static async start(options: ApiProcessesOptions): Promise<ApiProcesses> {
    const processes = new ApiProcesses(options);
    try {
      await processes.#listen();
      const names = Array.from({ length: options.config().apiProcesses }, (_, at) => `api-${at + 1}`);
      // Without a fixed port, the first process chooses it.
      if (processes.#port === 0) await processes.#add(names.shift() ?? '');
      await Promise.all(names.map((name) => processes.#add(name)));
      processes.#hasStarted = true;
      return processes;
    } catch (error) {
      await processes.stop();
      throw error;
    }
  }

  /** The port on which all processes listen. */
  get port(): number {
    return this.#port;
  }

  /** The state of all processes, this one first. */
  async list(): Promise<ProcessStatus[]> {
    const main = { name: 'main', pid: process.pid, state: 'ready' as const, restarts: 0 };
    const others = this.#processes.map(({ name, child, isReady, restarts }) => ({
      ...{ name, restarts, pid: child?.pid ?? null },
      state: isReady ? ('ready' as const) : ('starting' as const),
    }));
    const withMemory = async (one: Omit<ProcessStatus, 'memory_bytes'>): Promise<ProcessStatus> => ({
      ...one,
      memory_bytes: one.pid === null ? null : await residentBytes(one.pid),
    });
    return Promise.all([main, ...others].map(withMemory));
  }

  /** The metrics of all processes in the format of Prometheus. Those of a process that does not answer are missing. */
  async scrape(): Promise<string> {
    const others = this.#processes.map(async ({ peer, name }): Promise<MetricsSnapshot> => {
      try {
        return (
          (await peer?.call<MetricsSnapshot>('metrics', {}, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) })) ?? []
        );
      } catch (error) {
        this.#options.logger.warn({ api: name, reason: describeError(error) }, 'metrics of a process are missing');
        return [];
      }
    });
    return renderSnapshots(await Promise.all([this.#options.metrics(), ...others]));
  }

  /** Applies a configuration in all processes. */
  reload(config: Config): void {
    for (const { peer } of this.#processes) peer?.notify('reload', { config } satisfies ReloadInput);
  }

  /** Drains the processes. Resolves when all have ended. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const ended = this.#processes.map(async ({ child, peer, timer }) => {
      clearTimeout(timer);
      if (child === null) return;
      const exit = new Promise((resolve) => child.once('exit', resolve));
      if (peer === null) child.kill('SIGKILL');
      else peer.notify('stop', {});
      const kill = setTimeout(() => child.kill('SIGKILL'), this.#options.drainMs + CLOSE_MS);
      await exit;
      clearTimeout(kill);
    });
    await Promise.all(ended);
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #listen(): Promise<void> {
    // Of a killed service: this process holds the data folder.
    rmSync(this.#path, { force: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject).listen(this.#path, resolve);
    await promise;
    chmodSync(this.#path, 0o600);
  }

  #add(name: string): Promise<void> {
    const added: ApiProcess = {
      ...{ name, child: null, peer: null, isReady: false, readyAtMs: Number.POSITIVE_INFINITY },
      ...{ failure: null, failures: 0, restarts: 0, timer: undefined, ready: Promise.withResolvers<void>() },
    };
    this.#processes.push(added);
    this.#spawn(added);
    return added.ready.promise;
  }

  #spawn(slot: ApiProcess): void {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--test') && !flag.startsWith('--inspect'));
    const child = spawn(process.execPath, [...flags, MODULE, this.#path, slot.name], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    slot.child = child;
    slot.failure = null;
    slot.readyAtMs = Number.POSITIVE_INFINITY;
    let hasEnded = false;
    const end = (how: string) => {
      if (hasEnded) return;
      hasEnded = true;
      this.#ended(slot, how);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
  }

  #ended(slot: ApiProcess, how: string): void {
    const { name, failure } = slot;
    slot.child = null;
    slot.peer = null;
    slot.isReady = false;
    if (this.#stopping !== null) return;
    if (!this.#hasStarted) {
      const reason = failure ?? `The process '${name}', which serves the API, ended while it started (${how}).`;
      slot.ready.reject(new OperatorError(reason));
      return;
    }
    slot.failures = performance.now() - slot.readyAtMs > STABLE_MS ? 0 : slot.failures + 1;
    slot.restarts += 1;
    const restartInMs = slot.failures <= 1 ? 0 : restartDelayMs(slot.failures - 2);
    this.#options.logger.error({ api: name, how, reason: failure, restartInMs }, 'api process ended, restarting');
    slot.timer = setTimeout(() => this.#spawn(slot), restartInMs);
  }

  /** Serves one process. Only the user of the service can connect. */
  #connect(socket: Socket): void {
    let slot: ApiProcess | undefined;
    const engines = this.#options.engines.open(() => peer);
    const peer: RpcPeer = new RpcPeer(socket, {
      ...engines,
      call: async (method, input, signal) => {
        if (method === 'hello') {
          const { name } = input as HelloInput;
          slot = this.#processes.find((one) => one.name === name);
          if (slot !== undefined) slot.peer = peer;
          const { config, socketFolder } = this.#options;
          return { config: config(), port: this.#port, socketFolder } satisfies HelloResult;
        }
        if (method === 'ready' && slot !== undefined) return this.#markReady(slot, input as ReadyInput);
        if (method === 'failed' && slot !== undefined) {
          slot.failure = (input as FailedInput).message;
          return undefined;
        }
        if (method === 'scrape') return this.scrape();
        if (method === 'processes') return this.list();
        if (method === 'models-pull') return this.#options.modelsPull();
        return engines.call(method, input, signal);
      },
    });
  }

  #markReady(slot: ApiProcess, { port }: ReadyInput): void {
    const { name, restarts } = slot;
    slot.isReady = true;
    slot.readyAtMs = performance.now();
    this.#port = port;
    slot.ready.resolve();
    this.#options.logger.info({ api: name, pid: slot.child?.pid, restarts }, 'api process ready');
  }
}
