import { ApiError, engineUnavailable } from '../../../errors.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Backend } from '../../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../../fair-admission.ts';
import { type HostMemory, HostProcess, type HostState } from '../runtime/host-process.ts';
import type {
  EncoderFacts,
  EncoderHostMessage,
  EncoderParentMessage,
  EncoderRequest,
  EncoderResult,
  EncoderUse,
  FileIdentity,
} from './encoder-protocol.ts';

/** Calls in an engine at most, running and waiting: beyond it a caller does better to come back than to wait. */
const MAX_CALLS = 1_024;
/** Characters of the calls in an engine: bounds the memory of two processes. One call alone may have more. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** What a caller is told to wait when there are too many: about the time that a small model takes for a few calls. */
const BUSY_RETRY_SECONDS = 5;

/** A GGUF that embeds or judges. */
export interface EncoderOptions {
  /** Path of the GGUF file. */
  file: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Tokens that are read at once; longer texts are read in windows. Null: what the model was trained on, within reason. */
  contextTokens: number | null;
  /** Threads that compute; null: one for each core. */
  threads: number | null;
  /** What the model's process may take; unset: as much as is free. */
  memory?: HostMemory;
  logger: Logger;
  /** Milliseconds of silence after which the model's process counts as hung, and is started again. For tests. */
  heartbeatTimeoutMs?: number;
  /** Calls at most, running and waiting; 1024 unless given. */
  maxCalls?: number;
}

/** The host's answer, or the number of the text that it refuses. */
export type EncoderReply = { result: EncoderResult } | { tooLong: number };

interface Call {
  ticket: AdmissionTicket;
  reply: PromiseWithResolvers<EncoderReply>;
}

/**
 * An encoder in a process of its own. A crash of it fails the calls that it had with 503; it is then restarted. `check`
 * waits until it is loaded, and throws the sentence for the operator when it cannot be.
 */
export class EncoderProcess {
  readonly #options: EncoderOptions;
  readonly #host: HostProcess<EncoderFacts, EncoderHostMessage, EncoderParentMessage>;
  readonly #calls = new Map<number, Call>();
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  #nextId = 1;
  #facts: EncoderFacts | null = null;

  /** `identity`: the only state of the file that may be loaded; null for any. */
  constructor(options: EncoderOptions, use: EncoderUse, identity: FileIdentity | null) {
    this.#options = options;
    const { file, contextTokens, threads, memory } = options;
    const loaded = { file, identity, use, contextTokens, threads, contextMb: memory?.contextMb };
    const program = {
      module: new URL('./encoder-host.ts', import.meta.url),
      file,
      load: (): EncoderParentMessage => ({ type: 'load', options: loaded }),
      closeMessage: null,
      heapMb: memory?.heapMb,
    };
    const listener = {
      message: (message: EncoderHostMessage) => this.#receive(message),
      changed: (state: HostState<EncoderFacts>) => this.#hostChanged(state),
    };
    this.#host = new HostProcess(program, options.logger, listener, options.heartbeatTimeoutMs);
  }

  /** The process that holds the model; null while there is none. */
  get hostPid(): number | null {
    return this.#host.pid;
  }

  /** What is known of the model; null before it has been loaded once. */
  get facts(): EncoderFacts | null {
    return this.#facts;
  }

  /** Never waits: what is known now. */
  backend(): Backend {
    const ready = this.#host.state.kind === 'ready';
    return { engine: 'local', model: this.#options.name, parameters: this.#facts?.parameters ?? null, ready };
  }

  /**
   * Asks the model for an organization. Errors are `ApiError`s; an aborted signal ends the call by throwing its reason.
   */
  async request(request: EncoderRequest, scope: string, signal: AbortSignal): Promise<EncoderReply> {
    signal.throwIfAborted();
    this.#requireHost();
    const id = this.#nextId++;
    const reply = Promise.withResolvers<EncoderReply>();
    const end = (error: unknown): void => {
      if (this.#take(id) !== undefined) this.#host.send({ type: 'cancel', id });
      reply.reject(error);
    };
    const share = Math.max(1 / (this.#options.maxCalls ?? MAX_CALLS), charactersOf(request) / MAX_CHARACTERS);
    const call: Call = { ticket: this.#admission.enter({ scope, share, evict: end }), reply };
    this.#calls.set(id, call);
    const leave = (): void => end(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#host.send({ type: 'request', id, request });
    try {
      return await call.reply.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Resolves when the model answers; otherwise throws an Error with a sentence for the operator. */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { state } = this.#host;
    if (state.kind === 'stopped' || state.kind === 'crashed') throw new Error(state.reason);
    const id = this.#nextId++;
    const ping = Promise.withResolvers<void>();
    const abort = (): void => ping.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pings.set(id, ping);
    this.#host.send({ type: 'ping', id });
    try {
      await ping.promise;
    } finally {
      this.#pings.delete(id);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends waiting calls with 503 and the process. May be called twice. */
  close(): Promise<void> {
    return this.#host.close();
  }

  /** Throws 503 while there is no process that could answer. */
  #requireHost(): void {
    const { state } = this.#host;
    if (state.kind === 'stopped') throw unavailable(BUSY_RETRY_SECONDS, state.reason);
    if (state.kind === 'crashed') throw unavailable((state.retryAt - Date.now()) / 1_000, state.reason);
  }

  #receive(message: EncoderHostMessage): void {
    if (message.type === 'done') {
      this.#host.resetBackoff();
      this.#take(message.id)?.reply.resolve({ result: message.result });
    } else if (message.type === 'too-long') this.#take(message.id)?.reply.resolve({ tooLong: message.index });
    else if (message.type === 'failed') this.#take(message.id)?.reply.reject(new ApiError(message.error));
    else if (message.type === 'pong') this.#pings.get(message.id)?.resolve();
  }

  #take(id: number): Call | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.ticket.leave();
    return call;
  }

  #hostChanged(state: HostState<EncoderFacts>): void {
    if (state.kind === 'ready') this.#facts = state.facts;
    if (state.kind !== 'crashed' && state.kind !== 'stopped') return;
    if (state.kind === 'stopped') this.#options.logger.debug({ reason: state.reason }, 'a local engine ended');
    for (const ping of this.#pings.values()) ping.reject(new Error(state.reason));
    for (const id of [...this.#calls.keys()]) this.#take(id)?.reply.reject(unavailable(1, state.reason));
  }
}

function charactersOf(request: EncoderRequest): number {
  const texts = request.kind === 'rerank' ? [request.query, ...request.documents] : request.texts;
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function unavailable(retryAfterSeconds: number, reason: string): ApiError {
  const message = 'The process of this model is not there now; try again in a moment.';
  return engineUnavailable(message, retryAfterSeconds, new Error(reason));
}
