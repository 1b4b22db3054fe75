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

/** Maximum calls per engine, running and queued. Above it, retrying later is better than waiting. */
const MAX_CALLS = 1_024;
/** Maximum characters of all calls, which bounds the memory of two processes. A single call may exceed it. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** `Retry-After` of rejected calls: about the duration of a few short ones. */
const BUSY_RETRY_SECONDS = 5;

/** Options of an embedding model or a reranker. */
export interface EncoderOptions {
  /** Path of the GGUF file. */
  file: string;
  /** Name of the model, as the model object shows it. */
  name: string;
  /** Tokens per window; longer texts are split. Null: that of the training, up to `DEFAULT_WINDOW_TOKENS`. */
  contextTokens: number | null;
  /** Compute threads; null: one per core. */
  threads: number | null;
  /** Memory limits of the model's process; unset: all free memory. */
  memory?: HostMemory;
  logger: Logger;
  /** Time without heartbeat after which the model process is killed and restarted. For tests. */
  heartbeatTimeoutMs?: number;
  /** Maximum calls, running and queued; 1024 by default. */
  maxCalls?: number;
}

/** The result, or the index of the text that is too long. */
export type EncoderReply = { result: EncoderResult } | { tooLong: number };

interface Call {
  ticket: AdmissionTicket;
  reply: PromiseWithResolvers<EncoderReply>;
}

/**
 * An encoder in a process of its own. After a crash, running calls fail with 503 and the process is restarted. `check`
 * resolves when the model is loaded, and throws a sentence for the operator when it cannot be.
 */
export class EncoderProcess {
  readonly #options: EncoderOptions;
  readonly #host: HostProcess<EncoderFacts, EncoderHostMessage, EncoderParentMessage>;
  readonly #calls = new Map<number, Call>();
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  #nextId = 1;
  #facts: EncoderFacts | null = null;

  /** `identity`: rejects the file when it differs; null: accepts every version. */
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

  /** Process id of the host; null while there is none. */
  get hostPid(): number | null {
    return this.#host.pid;
  }

  /** Description of the model; null before it was loaded once. */
  get facts(): EncoderFacts | null {
    return this.#facts;
  }

  /** Returns immediately with the current state. */
  backend(): Backend {
    const ready = this.#host.state.kind === 'ready';
    return { engine: 'local', model: this.#options.name, parameters: this.#facts?.parameters ?? null, ready };
  }

  /** Runs a request for an organization. Throws an `ApiError`, or the reason of an aborted signal. */
  async request(request: EncoderRequest, scope: string, signal: AbortSignal): Promise<EncoderReply> {
    signal.throwIfAborted();
    this.#requireHost();
    const id = this.#nextId++;
    const reply = Promise.withResolvers<EncoderReply>();
    const end = (error: unknown): void => {
      if (this.#take(id) !== undefined) this.#host.send({ type: 'cancel', id }, scope);
      reply.reject(error);
    };
    const share = Math.max(1 / (this.#options.maxCalls ?? MAX_CALLS), countCharacters(request) / MAX_CHARACTERS);
    const call: Call = { ticket: this.#admission.enter({ scope, share, evict: end }), reply };
    this.#calls.set(id, call);
    const leave = (): void => end(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#host.send({ type: 'request', id, scope, request }, scope);
    try {
      return await call.reply.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Resolves when the model responds; otherwise throws an Error with a sentence for the operator. */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { state } = this.#host;
    if (state.kind === 'stopped' || state.kind === 'crashed') throw new Error(state.reason);
    const id = this.#nextId++;
    const ping = Promise.withResolvers<void>();
    const abort = (): void => ping.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pings.set(id, ping);
    this.#host.send({ type: 'ping', id }, '');
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

  /** Throws 503 while the model process cannot serve. */
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
    if (state.kind === 'stopped') this.#options.logger.debug({ reason: state.reason }, 'local engine stopped');
    for (const ping of this.#pings.values()) ping.reject(new Error(state.reason));
    for (const id of [...this.#calls.keys()]) this.#take(id)?.reply.reject(unavailable(1, state.reason));
  }
}

function countCharacters(request: EncoderRequest): number {
  const texts = request.kind === 'rerank' ? [request.query, ...request.documents] : request.texts;
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function unavailable(retryAfterSeconds: number, reason: string): ApiError {
  const message = 'The model is temporarily unavailable; try again in a moment.';
  return engineUnavailable(message, retryAfterSeconds, new Error(reason));
}
