import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { FairOutbox } from '../../../lib/fair-outbox.ts';
import type { Logger } from '../../../lib/logger.ts';
import { restartDelayMs } from '../../../lib/restart-delay.ts';
import type { HostStatus } from './host-protocol.ts';

/** Time for a host to write its snapshots and exit; then it is killed. */
const CLOSE_TIMEOUT_MS = 3_000;
/** Starts of a model that was never loaded and ends its process each time: a damaged file does not get better. */
const MAX_FIRST_LOADS = 2;
/** A host without a heartbeat for so long hangs. On a machine that swaps, a heartbeat may well be seconds late. */
const HEARTBEAT_TIMEOUT_MS = 60_000;
/** Checks within that time. They are counted, because a clock also runs while the machine is suspended. */
const HEARTBEAT_CHECKS = 6;
/** Characters of the host's stderr that are logged after a crash. */
const MAX_ERROR_OUTPUT_CHARACTERS = 2_000;

/** State of a host process. `Facts` describes the model once it is loaded. */
export type HostState<Facts> =
  | { kind: 'loading' }
  | { kind: 'ready'; facts: Facts }
  /** There is no process, or it is exiting. The next message starts one. */
  | { kind: 'unloaded' }
  /** It crashed and is restarted at `retryAt` (milliseconds since the epoch). */
  | { kind: 'crashed'; reason: string; retryAt: number }
  /** Final: the model cannot be loaded, or the engine was closed. */
  | { kind: 'stopped'; reason: string };

/** Memory limits of a host. */
export interface HostMemory {
  /** V8's old space; weights and contexts are outside of it. Null: V8's default. */
  heapMb: number | null;
  /** Memory for contexts, where more is free. Null: all free memory. */
  contextMb: number | null;
}

/** The program of a host. `Incoming` are the messages that it receives. */
export interface HostOptions<Incoming> {
  /** The main module. It sends `HostStatus` messages in addition to its own. */
  module: URL;
  /** The model file, for logs and errors. */
  file: string;
  /** The first message. `isRetry`: the last process ended before it had ever loaded the model. */
  load(isRetry: boolean): Incoming;
  /** Makes the host write its snapshots and exit; null when there is nothing to write. */
  closeMessage: Incoming | null;
  /** As `HostMemory`. */
  heapMb?: number | null | undefined;
  /** True: the host is started by the first message, and not at once. */
  isLazy?: boolean;
}

/** Observes a host process. */
export interface HostListener<Facts, Message> {
  /** Every message except `HostStatus`. */
  message(message: Message): void;
  changed(state: HostState<Facts>): void;
}

/** Supervises one host process: starts it, has it load the model, and restarts it after a crash. */
export class HostProcess<Facts extends object, Message, Incoming extends object> {
  readonly #options: HostOptions<Incoming>;
  readonly #logger: Logger;
  readonly #listener: HostListener<Facts, Message>;
  readonly #heartbeatTimeoutMs: number;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #heartbeatTimer: NodeJS.Timeout | null = null;
  #crashes = 0;
  #wasLoaded = false;
  /** Why this process killed the child; null when the child ended by itself. */
  #killReason: string | null = null;
  #missedChecks = 0;
  #errorOutput = '';
  /** Messages for the next process, sent while the last one exits. */
  #queued: { message: Incoming; scope: string }[] = [];
  #outbox: FairOutbox<Incoming> | null = null;
  state: HostState<Facts>;

  /** A host without heartbeat for `heartbeatTimeoutMs` is killed and restarted. */
  constructor(
    options: HostOptions<Incoming>,
    logger: Logger,
    listener: HostListener<Facts, Message>,
    heartbeatTimeoutMs = HEARTBEAT_TIMEOUT_MS,
  ) {
    this.#options = options;
    this.#logger = logger;
    this.#listener = listener;
    this.#heartbeatTimeoutMs = heartbeatTimeoutMs;
    this.state = { kind: options.isLazy === true ? 'unloaded' : 'loading' };
    if (options.isLazy !== true) this.#start();
  }

  /** Process id of the host; null while there is none. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /**
   * Sends a message. Starts a host when there is none because it was unloaded. `scope`: the organization, whose
   * messages arrive in order; organizations take turns.
   */
  send(message: Incoming, scope: string): void {
    if (this.state.kind === 'unloaded') {
      this.#queued.push({ message, scope });
      if (this.#child === null) this.#start();
    } else if (this.#child?.connected === true) this.#outbox?.send(message, scope);
  }

  /** A request succeeded: the next crash counts as the first one. */
  resetBackoff(): void {
    this.#crashes = 0;
  }

  /** Ends a host that is ready, and frees its memory, until the next message. Does nothing in any other state. */
  unload(): void {
    const child = this.#child;
    if (this.state.kind !== 'ready' || child === null) return;
    this.#requestExit(child);
    this.#setState({ kind: 'unloaded' });
  }

  /** Ends the host for good, after it has written its snapshots. May be called twice. */
  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    const { state } = this;
    this.#queued = [];
    this.#setState({ kind: 'stopped', reason: 'The engine was closed.' });
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (state.kind === 'ready') this.#requestExit(child);
    else if (state.kind !== 'unloaded') child.kill('SIGKILL');
    await exited;
  }

  /** Asks the child to exit; kills it when it does not. */
  #requestExit(child: ChildProcess): void {
    const { closeMessage } = this.#options;
    if (closeMessage === null) child.kill('SIGKILL');
    else child.send(closeMessage, () => undefined);
    const kill = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS);
    child.once('exit', () => clearTimeout(kill));
  }

  #start(): void {
    this.#restart = null;
    this.#errorOutput = '';
    this.#killReason = null;
    const { module, heapMb } = this.#options;
    const child = fork(fileURLToPath(module), [], {
      // Without the flags of this process, which may come from a test runner or a debugger.
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
    this.#heartbeatTimer = setInterval(() => this.#checkHeartbeat(child), this.#heartbeatTimeoutMs / HEARTBEAT_CHECKS);
    this.#heartbeatTimer.unref();
    this.#setState({ kind: 'loading' });
    this.#outbox = new FairOutbox((message, written) => {
      // A failed write means that the host is exiting; the exit is reported.
      child.send(message, () => {
        if (child === this.#child) written();
      });
    });
    this.send(this.#options.load(!this.#wasLoaded && this.#crashes > 0), '');
    const queued = this.#queued;
    this.#queued = [];
    for (const { message, scope } of queued) this.send(message, scope);
  }

  #checkHeartbeat(child: ChildProcess): void {
    this.#missedChecks += 1;
    if (this.#missedChecks <= HEARTBEAT_CHECKS) return;
    this.#killReason ??= `no heartbeat for ${Math.round(this.#heartbeatTimeoutMs / 1_000)} seconds`;
    child.kill('SIGKILL');
  }

  #receive(child: ChildProcess, message: object): void {
    // An unloaded host may still send statistics while it exits.
    if (child !== this.#child || this.state.kind === 'unloaded') return;
    this.#missedChecks = 0;
    const status = message as HostStatus<Facts>;
    if (status.type === 'loaded') {
      const fields: object = { file: this.#options.file, ...status.facts };
      this.#logger.info(fields, 'model loaded');
      this.#wasLoaded = true;
      this.#setState({ kind: 'ready', facts: status.facts });
    } else if (status.type === 'load-failed') {
      // A model that was loaded before is tried again: the file may be restored, or memory become free.
      if (this.#wasLoaded) this.#killReason = status.reason;
      else this.#setState({ kind: 'stopped', reason: status.reason });
      child.kill('SIGKILL');
    } else if (status.type !== 'alive') this.#listener.message(message as Message);
  }

  #setState(state: HostState<Facts>): void {
    // `stopped` is final, and its first reason is the cause.
    if (this.state.kind === 'stopped') return;
    this.state = state;
    this.#listener.changed(state);
  }

  #ended(child: ChildProcess, ending: string): void {
    if (child !== this.#child) return;
    this.#child = null;
    if (this.#heartbeatTimer !== null) clearInterval(this.#heartbeatTimer);
    if (this.state.kind === 'stopped') return;
    if (this.state.kind === 'unloaded') {
      if (this.#queued.length > 0) this.#start();
      return;
    }
    const how = this.#killReason ?? ending;
    if (this.state.kind !== 'loading' || this.#wasLoaded) {
      this.#restartLater(how, `The process of the model ended (${how}).`);
      return;
    }
    const { file } = this.#options;
    const reason = `The model file '${file}' ended its process while it was loaded (${how}); it is damaged or needs more memory than there is.`;
    if (this.#crashes + 1 < MAX_FIRST_LOADS) this.#restartLater(how, reason);
    else this.#setState({ kind: 'stopped', reason });
  }

  #restartLater(how: string, reason: string): void {
    const waitMs = restartDelayMs(this.#crashes);
    this.#crashes += 1;
    const facts = { file: this.#options.file, how, waitMs, output: this.#errorOutput };
    this.#logger.error(facts, 'model process ended, restarting');
    this.#restart = setTimeout(() => this.#start(), waitMs);
    this.#setState({ kind: 'crashed', reason, retryAt: Date.now() + waitMs });
  }
}
