import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../../lib/logger.ts';
import type { HostStatus } from './host-protocol.ts';

/**
 * Waits before a restart: short at first, for a crash is rare; long in the end, so that a request that crashes the
 * model again and again does not keep the machine loading it.
 */
const FIRST_RESTART_MS = 250;
const LAST_RESTART_MS = 30_000;
/** Time that the host has to save what it computed when the service stops. */
const SAVING_MS = 3_000;
/** Starts of a model that has never been loaded, when each ends its process: a damaged file will not get better. */
const FIRST_LOADS = 2;
/** A host that says nothing for so long hangs: on a machine that swaps, it may well be late by seconds. */
const SILENCE_MS = 60_000;
/** Looks at the silence within that time. Counted, for a clock also runs while a whole machine is asleep. */
const LOOKS = 6;
/** Characters of the host's error output that are kept to explain a crash. */
const KEPT_ERROR_CHARACTERS = 2_000;

/** What the process of the model is doing. `Facts` is what it tells of the model once it is loaded. */
export type HostState<Facts> =
  | { kind: 'loading' }
  | { kind: 'ready'; facts: Facts }
  /** It crashed and is started again at `retryAt` (milliseconds since the epoch). */
  | { kind: 'crashed'; reason: string; retryAt: number }
  /** For good: the model cannot be loaded, or the engine was closed. */
  | { kind: 'unusable'; reason: string };

/** What a host may take. */
export interface HostMemory {
  /** V8's old space; weights and contexts lie outside of it. Null: V8's default. */
  heapMb: number | null;
  /** Memory that contexts are fitted into, where more is free. Null: all that is free. */
  contextMb: number | null;
}

/** What a host runs. `Told` is what it may be told. */
export interface HostProgram<Told> {
  /** The module of the process. Beside its own messages it gives the signs of `HostStatus`. */
  module: URL;
  /** The model's file, for what is said of it. */
  file: string;
  /** The first message. `careful`: the last process ended before it had ever loaded the model. */
  load(careful: boolean): Told;
  /** What makes it save what it computed, and end; null when there is nothing to save. */
  farewell: Told | null;
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
export class HostProcess<Facts extends object, Message, Told extends object> {
  readonly #program: HostProgram<Told>;
  readonly #logger: Logger;
  readonly #listener: HostListener<Facts, Message>;
  readonly #silenceMs: number;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  #crashes = 0;
  #wasLoaded = false;
  /** Why the child is killed by us; null: it ended by itself. */
  #killedFor: string | null = null;
  #silentLooks = 0;
  #errorOutput = '';
  state: HostState<Facts> = { kind: 'loading' };

  /** A host that says nothing for `silenceMs` is killed and started again. */
  constructor(
    program: HostProgram<Told>,
    logger: Logger,
    listener: HostListener<Facts, Message>,
    silenceMs = SILENCE_MS,
  ) {
    this.#program = program;
    this.#logger = logger;
    this.#listener = listener;
    this.#silenceMs = silenceMs;
    this.#start();
  }

  /** The host's process id, while there is one. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  send(message: Told): void {
    // A send that fails means that the host is ending; its exit is what is told.
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }

  /** A request was answered: the next crash counts as the first again. */
  worked(): void {
    this.#crashes = 0;
  }

  /** Ends the host for good, after it saved what it computed. May be called twice. */
  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    const farewell = this.state.kind === 'ready' ? this.#program.farewell : null;
    this.#become({ kind: 'unusable', reason: 'The engine was closed.' });
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (farewell !== null) this.send(farewell);
    const kill = setTimeout(() => child.kill('SIGKILL'), farewell === null ? 0 : SAVING_MS);
    await exited;
    clearTimeout(kill);
  }

  #start(): void {
    this.#restart = null;
    this.#errorOutput = '';
    this.#killedFor = null;
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
      this.#errorOutput = (this.#errorOutput + text).slice(-KEPT_ERROR_CHARACTERS);
    });
    child.on('message', (message: object) => this.#receive(child, message));
    child.on('error', (error) => this.#ended(child, error.message));
    child.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    this.#silentLooks = 0;
    this.#watch = setInterval(() => this.#look(child), this.#silenceMs / LOOKS);
    this.#watch.unref();
    this.#become({ kind: 'loading' });
    this.send(this.#program.load(!this.#wasLoaded && this.#crashes > 0));
  }

  #look(child: ChildProcess): void {
    this.#silentLooks += 1;
    if (this.#silentLooks <= LOOKS) return;
    this.#killedFor ??= `it said nothing for ${Math.round(this.#silenceMs / 1_000)} seconds`;
    child.kill('SIGKILL');
  }

  #receive(child: ChildProcess, message: object): void {
    if (child !== this.#child) return;
    this.#silentLooks = 0;
    const sign = message as HostStatus<Facts>;
    if (sign.type === 'loaded') {
      const told: object = { file: this.#program.file, ...sign.facts };
      this.#logger.info(told, 'a model is loaded');
      this.#wasLoaded = true;
      this.#become({ kind: 'ready', facts: sign.facts });
    } else if (sign.type === 'unusable') {
      // What could be loaded before will be again: when the file is put back, or others need less memory.
      if (this.#wasLoaded) this.#killedFor = sign.reason;
      else this.#become({ kind: 'unusable', reason: sign.reason });
      child.kill('SIGKILL');
    } else if (sign.type !== 'alive') this.#listener.message(message as Message);
  }

  #become(state: HostState<Facts>): void {
    // What is for good stays; the first reason is the true one.
    if (this.state.kind === 'unusable') return;
    this.state = state;
    this.#listener.changed(state);
  }

  #ended(child: ChildProcess, ending: string): void {
    if (child !== this.#child) return;
    this.#child = null;
    if (this.#watch !== null) clearInterval(this.#watch);
    if (this.state.kind === 'unusable') return;
    const how = this.#killedFor ?? ending;
    if (this.state.kind !== 'loading' || this.#wasLoaded) {
      this.#restartLater(how, `The process of the model ended (${how}).`);
      return;
    }
    const { file } = this.#program;
    const reason = `The model file '${file}' ended its process while it was loaded (${how}); it is damaged or needs more memory than there is.`;
    if (this.#crashes + 1 < FIRST_LOADS) this.#restartLater(how, reason);
    else this.#become({ kind: 'unusable', reason });
  }

  #restartLater(how: string, reason: string): void {
    const waitMs = Math.min(LAST_RESTART_MS, FIRST_RESTART_MS * 2 ** this.#crashes);
    this.#crashes += 1;
    const facts = { file: this.#program.file, how, waitMs, output: this.#errorOutput };
    this.#logger.error(facts, 'the process of a model ended; it is restarted');
    this.#restart = setTimeout(() => this.#start(), waitMs);
    this.#become({ kind: 'crashed', reason, retryAt: Date.now() + waitMs });
  }
}
