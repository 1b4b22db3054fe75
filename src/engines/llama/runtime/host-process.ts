import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../../lib/logger.ts';
import type { HostStatus } from './host-protocol.ts';

/**
 * Waits before a restart: short at first, for a crash is rare; long in the end, so that a request that crashes the
 * model again and again does not keep the machine loading it.
 */
const MIN_RESTART_DELAY_MS = 250;
const MAX_RESTART_DELAY_MS = 30_000;
/** Time that the host has to save what it computed when the service stops. */
const CLOSE_TIMEOUT_MS = 3_000;
/** Starts of a model that has never been loaded, when each ends its process: a damaged file will not get better. */
const MAX_FIRST_LOADS = 2;
/** A host that says nothing for so long hangs: on a machine that swaps, it may well be late by seconds. */
const HEARTBEAT_TIMEOUT_MS = 60_000;
/** Looks at the silence within that time. Counted, for a clock also runs while a whole machine is asleep. */
const HEARTBEAT_CHECKS = 6;
/** Characters of the host's error output that are kept to explain a crash. */
const MAX_ERROR_OUTPUT_CHARACTERS = 2_000;

/** What the process of the model is doing. `Facts` is what it tells of the model once it is loaded. */
export type HostState<Facts> =
  | { kind: 'loading' }
  | { kind: 'ready'; facts: Facts }
  /** It crashed and is started again at `retryAt` (milliseconds since the epoch). */
  | { kind: 'crashed'; reason: string; retryAt: number }
  /** For good: the model cannot be loaded, or the engine was closed. */
  | { kind: 'stopped'; reason: string };

/** What a host may take. */
export interface HostMemory {
  /** V8's old space; weights and contexts lie outside of it. Null: V8's default. */
  heapMb: number | null;
  /** Memory that contexts are fitted into, where more is free. Null: all that is free. */
  contextMb: number | null;
}

/** What a host runs. `Told` is what it may be told. */
export interface HostOptions<Incoming> {
  /** The module of the process. Beside its own messages it gives the signs of `HostStatus`. */
  module: URL;
  /** The model's file, for what is said of it. */
  file: string;
  /** The first message. `careful`: the last process ended before it had ever loaded the model. */
  load(isRetry: boolean): Incoming;
  /** What makes it save what it computed, and end; null when there is nothing to save. */
  closeMessage: Incoming | null;
  /** As `HostMemory`. */
  heapMb?: number | null | undefined;
}

/** Who hears of the host. */
export interface HostListener<Facts, Message> {
  /** Everything that it says, except the signs of its life. */
  message(message: Message): void;
  changed(state: HostState<Facts>): void;
}

/** Keeps one host process alive: starts it, has it load the model, and starts it again when it crashes. */
export class HostProcess<Facts extends object, Message, Incoming extends object> {
  readonly #program: HostOptions<Incoming>;
  readonly #logger: Logger;
  readonly #listener: HostListener<Facts, Message>;
  readonly #heartbeatTimeoutMs: number;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  #crashes = 0;
  #wasLoaded = false;
  /** Why the child is killed by us; null: it ended by itself. */
  #killReason: string | null = null;
  #missedChecks = 0;
  #errorOutput = '';
  state: HostState<Facts> = { kind: 'loading' };

  /** A host that says nothing for `heartbeatTimeoutMs` is killed and started again. */
  constructor(
    program: HostOptions<Incoming>,
    logger: Logger,
    listener: HostListener<Facts, Message>,
    heartbeatTimeoutMs = HEARTBEAT_TIMEOUT_MS,
  ) {
    this.#program = program;
    this.#logger = logger;
    this.#listener = listener;
    this.#heartbeatTimeoutMs = heartbeatTimeoutMs;
    this.#start();
  }

  /** The host's process id, while there is one. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  send(message: Incoming): void {
    // A send that fails means that the host is ending; its exit is what is told.
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }

  /** A request was answered: the next crash counts as the first again. */
  resetBackoff(): void {
    this.#crashes = 0;
  }

  /** Ends the host for good, after it saved what it computed. May be called twice. */
  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    const closeMessage = this.state.kind === 'ready' ? this.#program.closeMessage : null;
    this.#become({ kind: 'stopped', reason: 'The engine was closed.' });
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (closeMessage !== null) this.send(closeMessage);
    const kill = setTimeout(() => child.kill('SIGKILL'), closeMessage === null ? 0 : CLOSE_TIMEOUT_MS);
    await exited;
    clearTimeout(kill);
  }

  #start(): void {
    this.#restart = null;
    this.#errorOutput = '';
    this.#killReason = null;
    const { module, heapMb } = this.#program;
    const child = fork(fileURLToPath(module), [], {
      // None of the service's own flags: they may be for a test runner or a debugger.
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        ...(heapMb == null ? [] : [`--max-old-space-size=${heapMb}`]),
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errorOutput = (this.#errorOutput + text).slice(-MAX_ERROR_OUTPUT_CHARACTERS);
    });
    child.on('message', (message: object) => this.#receive(child, message));
    child.on('error', (error) => this.#ended(child, error.message));
    child.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    this.#missedChecks = 0;
    this.#watch = setInterval(() => this.#checkHeartbeat(child), this.#heartbeatTimeoutMs / HEARTBEAT_CHECKS);
    this.#watch.unref();
    this.#become({ kind: 'loading' });
    this.send(this.#program.load(!this.#wasLoaded && this.#crashes > 0));
  }

  #checkHeartbeat(child: ChildProcess): void {
    this.#missedChecks += 1;
    if (this.#missedChecks <= HEARTBEAT_CHECKS) return;
    this.#killReason ??= `it said nothing for ${Math.round(this.#heartbeatTimeoutMs / 1_000)} seconds`;
    child.kill('SIGKILL');
  }

  #receive(child: ChildProcess, message: object): void {
    if (child !== this.#child) return;
    this.#missedChecks = 0;
    const status = message as HostStatus<Facts>;
    if (status.type === 'loaded') {
      const told: object = { file: this.#program.file, ...status.facts };
      this.#logger.info(told, 'a model is loaded');
      this.#wasLoaded = true;
      this.#become({ kind: 'ready', facts: status.facts });
    } else if (status.type === 'load-failed') {
      // What could be loaded before will be again: when the file is put back, or others need less memory.
      if (this.#wasLoaded) this.#killReason = status.reason;
      else this.#become({ kind: 'stopped', reason: status.reason });
      child.kill('SIGKILL');
    } else if (status.type !== 'alive') this.#listener.message(message as Message);
  }

  #become(state: HostState<Facts>): void {
    // What is for good stays; the first reason is the true one.
    if (this.state.kind === 'stopped') return;
    this.state = state;
    this.#listener.changed(state);
  }

  #ended(child: ChildProcess, ending: string): void {
    if (child !== this.#child) return;
    this.#child = null;
    if (this.#watch !== null) clearInterval(this.#watch);
    if (this.state.kind === 'stopped') return;
    const how = this.#killReason ?? ending;
    if (this.state.kind !== 'loading' || this.#wasLoaded) {
      this.#restartLater(how, `The process of the model ended (${how}).`);
      return;
    }
    const { file } = this.#program;
    const reason = `The model file '${file}' ended its process while it was loaded (${how}); it is damaged or needs more memory than there is.`;
    if (this.#crashes + 1 < MAX_FIRST_LOADS) this.#restartLater(how, reason);
    else this.#become({ kind: 'stopped', reason });
  }

  #restartLater(how: string, reason: string): void {
    const waitMs = Math.min(MAX_RESTART_DELAY_MS, MIN_RESTART_DELAY_MS * 2 ** this.#crashes);
    this.#crashes += 1;
    const facts = { file: this.#program.file, how, waitMs, output: this.#errorOutput };
    this.#logger.error(facts, 'the process of a model ended; it is restarted');
    this.#restart = setTimeout(() => this.#start(), waitMs);
    this.#become({ kind: 'crashed', reason, retryAt: Date.now() + waitMs });
  }
}
