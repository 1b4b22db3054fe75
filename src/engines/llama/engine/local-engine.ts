import { ApiError, engineUnavailable } from '../../../errors.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Backend, CacheUsage, GenerationEngine, GenerationEvent, GenerationFeatures } from '../../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../../fair-admission.ts';
import { requireGguf } from '../gguf/gguf-header.ts';
import type { TemplateOverride } from '../prompt/chat-template.ts';
import { type HostMemory, type HostOptions, HostProcess, type HostState } from '../runtime/host-process.ts';
import type { HostMessage, ModelFacts, ParentMessage } from './protocol.ts';
import { RequestStream } from './request-stream.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** Requests in an engine at most, running and waiting: beyond it a caller does better to come back than to wait. */
const MAX_REQUESTS = 1_024;
/** What a caller is told to wait when there are too many: about the time that a small model takes for a few answers. */
const BUSY_RETRY_SECONDS = 5;

/** A GGUF to serve. */
export interface LocalEngineOptions {
  /** Path of the GGUF file. */
  file: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** `bundled`: weights that ship with Quire. `local`: a file of the operator's. */
  kind: 'bundled' | 'local';
  /** Tokens of prompt and answer together; null: what the model was trained on, as far as memory allows. */
  contextTokens: number | null;
  /** Answers that are computed at once; each takes memory for a whole context. Null: what this machine is good for. */
  slots: number | null;
  /** Threads that compute; null: the fastest number. */
  threads: number | null;
  /** File that keeps what was measured of this machine at the first start. Unset: nothing is measured. */
  calibrationFile?: string | undefined;
  /** Folder for computed prompts of this model, and how many bytes of them it may hold. Unset: they are not saved. */
  diskCache?: { folder: string; bytes: number };
  /** Replaces the chat template of the file. */
  template?: TemplateOverride;
  /** Memory limits of the model's process; unset: all free memory. */
  memory?: HostMemory;
  /**
   * Milliseconds without a request after which the model is unloaded; the next request loads it again. It is then also
   * loaded by the first request, and not at once. Unset or null: the model is loaded now and stays loaded.
   */
  keepAliveMs?: number | null;
  /** What `contextLength` and `backend` say until the model was loaded once. */
  expected?: { contextTokens: number; parameters: number };
  /** Milliseconds without concurrent requests after which KV-cache slots are freed. For tests. */
  slotIdleMs?: number;
  logger: Logger;
  /** Milliseconds of silence after which the model's process counts as hung, and is started again. For tests. */
  heartbeatTimeoutMs?: number;
  /** Requests at most, running and waiting; 1024 unless given. */
  maxRequests?: number;
}

/** What is going on in an engine. */
export interface LocalEngineLoad {
  /** Answers that are being computed. */
  running: number;
  /** Requests that wait for a slot. */
  waiting: number;
  /** KV-cache slots that are allocated. */
  slots: number;
}

interface PendingRequest {
  stream: RequestStream;
  ticket: AdmissionTicket;
}

/** A generation engine on llama.cpp, in a process of its own. */
export interface LocalEngine extends GenerationEngine {
  generate(request: ConstrainedRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>;
  /** Asks the host what it computes now. Throws as `check` does. */
  load(signal: AbortSignal): Promise<LocalEngineLoad>;
  /** The process that holds the model; null while there is none. */
  readonly hostPid: number | null;
}

/**
 * Starts to load a GGUF and gives the engine at once. `check` waits until it is loaded, and throws the sentence for the
 * operator when it cannot be. A crash of the model's process fails the requests in it with 503; it is then restarted.
 */
export function createLocalEngine(options: LocalEngineOptions): LocalEngine {
  return new LlamaEngine(options);
}

class LlamaEngine implements LocalEngine {
  readonly #options: LocalEngineOptions;
  readonly #host: HostProcess<ModelFacts, HostMessage, ParentMessage>;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  readonly #pings = new Map<number, PromiseWithResolvers<LocalEngineLoad>>();
  #nextId = 1;
  #facts: ModelFacts | null = null;
  #cache: CacheUsage | null = null;
  /** Evictions of the hosts before this one. */
  #earlierEvictions = 0;
  #unloadTimer: NodeJS.Timeout | null = null;

  constructor(options: LocalEngineOptions) {
    this.#options = options;
    const { file, contextTokens, slots, threads, calibrationFile, diskCache, template, memory, slotIdleMs } = options;
    const load = { file, contextTokens, slots, threads, diskCache, template, slotIdleMs, contextMb: memory?.contextMb };
    const program: HostOptions<ParentMessage> = {
      module: new URL('./host.ts', import.meta.url),
      file,
      // Nothing is measured where the last attempt ended before the model was ready: that may be reason.
      load: (isRetry) => ({ type: 'load', options: isRetry ? load : { ...load, calibrationFile } }),
      closeMessage: diskCache === undefined ? null : { type: 'close' },
      heapMb: memory?.heapMb,
      isLazy: options.keepAliveMs != null,
    };
    const listener = {
      message: (message: HostMessage) => this.#receive(message),
      changed: (state: HostState<ModelFacts>) => this.#hostChanged(state),
    };
    this.#host = new HostProcess(program, options.logger, listener, options.heartbeatTimeoutMs);
  }

  get hostPid(): number | null {
    return this.#host.pid;
  }

  backend(): Backend {
    const { kind, name, expected } = this.#options;
    const { state } = this.#host;
    // An unloaded model is available: the next request loads it.
    const ready =
      state.kind === 'ready' ||
      state.kind === 'unloaded' ||
      (state.kind === 'loading' && this.#options.keepAliveMs != null);
    return { engine: kind, model: name, parameters: this.#facts?.parameters ?? expected?.parameters ?? null, ready };
  }

  contextLength(): number | null {
    return this.#facts?.contextTokens ?? this.#options.expected?.contextTokens ?? null;
  }

  features(): GenerationFeatures {
    const mode = this.#facts?.documents ? 'native' : 'rendered';
    return { suffix: this.#facts?.suffix ?? false, promptLogprobs: true, documentMode: () => mode };
  }

  cacheUsage(): CacheUsage | null {
    return this.#cache;
  }

  generate(request: ConstrainedRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const id = this.#nextId++;
    const stream = new RequestStream(
      {
        start: () => {
          this.#requireHost();
          const ticket = this.#enterQueue(id, request.scope);
          this.#cancelUnload();
          this.#pending.set(id, { stream, ticket });
          this.#host.send({ type: 'generate', id, request });
        },
        consumed: (events) => this.#host.send({ type: 'consumed', id, events }),
        cancel: () => {
          if (this.#remove(id) !== null) this.#host.send({ type: 'cancel', id });
        },
      },
      signal,
    );
    return stream;
  }

  /** Does not load an unloaded model: checks that its file is there and has a valid header. */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#host.state.kind === 'unloaded') await requireGguf(this.#options.file);
    else await this.load(signal);
  }

  async load(signal: AbortSignal): Promise<LocalEngineLoad> {
    signal.throwIfAborted();
    const { state } = this.#host;
    if (state.kind === 'unloaded') return { running: 0, waiting: 0, slots: 0 };
    if (state.kind === 'stopped' || state.kind === 'crashed') throw new Error(state.reason);
    const id = this.#nextId++;
    const ping = Promise.withResolvers<LocalEngineLoad>();
    const abort = (): void => ping.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pings.set(id, ping);
    this.#host.send({ type: 'ping', id });
    try {
      return await ping.promise;
    } finally {
      this.#pings.delete(id);
      signal.removeEventListener('abort', abort);
    }
  }

  close(): Promise<void> {
    this.#cancelUnload();
    return this.#host.close();
  }

  /** Unloads the model when no request arrives in time. */
  #scheduleUnload(): void {
    const { keepAliveMs } = this.#options;
    if (keepAliveMs == null || this.#pending.size > 0) return;
    this.#cancelUnload();
    this.#unloadTimer = setTimeout(() => this.#host.unload(), keepAliveMs).unref();
  }

  #cancelUnload(): void {
    if (this.#unloadTimer !== null) clearTimeout(this.#unloadTimer);
    this.#unloadTimer = null;
  }

  /** Throws 503 while there is no process that could answer. */
  #requireHost(): void {
    const { state } = this.#host;
    if (state.kind === 'stopped') throw unavailable(BUSY_RETRY_SECONDS, state.reason);
    if (state.kind === 'crashed') throw unavailable((state.retryAt - Date.now()) / 1_000, state.reason);
  }

  /** Throws 503 where the queue is full and no other organization has more in it. */
  #enterQueue(id: number, scope: string): AdmissionTicket {
    return this.#admission.enter({
      scope,
      share: 1 / (this.#options.maxRequests ?? MAX_REQUESTS),
      evict: (error) => {
        this.#host.send({ type: 'cancel', id });
        this.#remove(id)?.fail(error);
      },
    });
  }

  #receive(message: HostMessage): void {
    if (message.type === 'events') {
      for (const { id, events } of message.batch) {
        const call = this.#pending.get(id);
        call?.ticket.markStarted();
        call?.stream.push(events);
      }
    } else if (message.type === 'done') {
      this.#host.resetBackoff();
      this.#remove(message.id)?.finish();
    } else if (message.type === 'failed') this.#remove(message.id)?.fail(new ApiError(message.error));
    else if (message.type === 'warning') {
      const { what, error } = message;
      this.#options.logger.warn({ model: this.#options.name, error }, what);
    } else if (message.type === 'cache') {
      const { bytes, entries, evictions } = message.usage;
      this.#cache = { bytes, entries, evictions: this.#earlierEvictions + evictions };
    } else if (message.type === 'pong') {
      this.#pings
        .get(message.id)
        ?.resolve({ running: message.running, waiting: message.waiting, slots: message.slots });
    }
  }

  #remove(id: number): RequestStream | null {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    call?.ticket.leave();
    this.#scheduleUnload();
    return call?.stream ?? null;
  }

  #hostChanged(state: HostState<ModelFacts>): void {
    if (state.kind === 'ready') {
      this.#facts = state.facts;
      this.#scheduleUnload();
    }
    if (state.kind === 'ready' || state.kind === 'loading') return;
    if (this.#cache !== null) {
      // The slots went with the process. Snapshots are counted again when the model is loaded.
      this.#earlierEvictions = this.#cache.evictions;
      this.#cache = { bytes: 0, entries: 0, evictions: this.#earlierEvictions };
    }
    if (state.kind === 'unloaded') {
      this.#options.logger.info({ model: this.#options.name }, 'model unloaded');
      for (const ping of this.#pings.values()) ping.resolve({ running: 0, waiting: 0, slots: 0 });
      return;
    }
    if (state.kind === 'stopped') this.#options.logger.debug({ reason: state.reason }, 'local engine stopped');
    for (const ping of this.#pings.values()) ping.reject(new Error(state.reason));
    for (const id of [...this.#pending.keys()]) this.#remove(id)?.fail(unavailable(1, state.reason));
  }
}

function unavailable(retryAfterSeconds: number, reason: string): ApiError {
  const message = 'The process of this model is not there now; try again in a moment.';
  return engineUnavailable(message, retryAfterSeconds, new Error(reason));
}
