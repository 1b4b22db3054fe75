import { ApiError, engineUnavailable } from '../../../errors.ts';
import type { Logger } from '../../../lib/logger.ts';
import { RequestStream } from '../../../lib/request-stream.ts';
import type {
  Backend,
  CacheUsage,
  ChatPrompt,
  EngineLoad,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
} from '../../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../../fair-admission.ts';
import { TemplateTokens } from '../../template-tokens.ts';
import { requireGguf } from '../gguf/gguf-header.ts';
import type { TemplateOverride } from '../prompt/chat-template.ts';
import { type HostMemory, type HostOptions, HostProcess, type HostState } from '../runtime/host-process.ts';
import type { HostMessage, ModelFacts, ParentMessage } from './protocol.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** Maximum requests per engine, running and queued. Above it, retrying later is better than waiting. */
const MAX_REQUESTS = 1_024;
/** `Retry-After` of rejected requests: about the duration of a few short completions. */
const BUSY_RETRY_SECONDS = 5;

/** Options of a local engine. */
export interface LocalEngineOptions {
  /** Path of the GGUF file. */
  file: string;
  /** Name of the model, as the model object shows it. */
  name: string;
  /** `bundled`: weights that ship with Quire. `local`: a file of the operator. */
  kind: 'bundled' | 'local';
  /** Context length in tokens; null for the model's training context, limited by memory. */
  contextTokens: number | null;
  /** Maximum number of KV-cache slots (concurrent completions). Null: by calibration and memory. */
  slots: number | null;
  /** Compute threads; null: by calibration. */
  threads: number | null;
  /** File with stored measurements of this machine. Unset: no calibration. */
  calibrationFile?: string | undefined;
  /** Folder and size limit of the KV disk cache. Unset: prompts are cached in memory only. */
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
  /** Reported until the model was loaded once. */
  expected?: Pick<ModelFacts, 'contextTokens' | 'parameters' | 'sampleTokens'>;
  /** Milliseconds without concurrent requests after which KV-cache slots are freed. For tests. */
  slotIdleMs?: number;
  logger: Logger;
  /** Time without heartbeat after which the model process is killed and restarted. For tests. */
  heartbeatTimeoutMs?: number;
  /** Maximum requests, running and queued; 1024 by default. */
  maxRequests?: number;
}

interface PendingRequest {
  stream: RequestStream<GenerationEvent>;
  ticket: AdmissionTicket;
}

/** A generation engine on llama.cpp, in a process of its own. */
export interface LocalEngine extends GenerationEngine {
  generate(request: ConstrainedRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>;
  countTokens(prompt: ChatPrompt, scope: string, signal: AbortSignal): Promise<number | null>;
  /** Asks the host for its load. Throws like `check`. */
  load(signal: AbortSignal): Promise<EngineLoad>;
  /** Process id of the host; null while there is none. */
  readonly hostPid: number | null;
  loadModel(): void;
  unloadModel(): boolean;
}

/**
 * Creates an engine for a GGUF and starts to load it. `check` resolves when it is loaded, and throws a sentence for the
 * operator when it cannot be. After a crash of the model process, running requests fail with 503 and the process is
 * restarted.
 */
export function createLocalEngine(options: LocalEngineOptions): LocalEngine {
  return new LlamaEngine(options);
}

class LlamaEngine implements LocalEngine {
  readonly #options: LocalEngineOptions;
  readonly #host: HostProcess<ModelFacts, HostMessage, ParentMessage>;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  readonly #pings = new Map<number, PromiseWithResolvers<EngineLoad>>();
  #nextId = 1;
  #facts: ModelFacts | null = null;
  readonly #template = new TemplateTokens();
  #cache: CacheUsage | null = null;
  /** Evictions of earlier host processes. */
  #earlierEvictions = 0;
  #unloadTimer: NodeJS.Timeout | null = null;

  constructor(options: LocalEngineOptions) {
    this.#options = options;
    this.#template.recordSamples(options.expected?.sampleTokens ?? []);
    const { file, contextTokens, slots, threads, calibrationFile, diskCache, template, memory, slotIdleMs } = options;
    const load = { file, contextTokens, slots, threads, diskCache, template, slotIdleMs, contextMb: memory?.contextMb };
    const program: HostOptions<ParentMessage> = {
      module: new URL('./host.ts', import.meta.url),
      file,
      // No calibration after a start that crashed: calibration may be the reason.
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
    return {
      suffix: this.#facts?.suffix ?? false,
      promptLogprobs: true,
      documentMode: () => mode,
      templateTokens: ({ prompt }) => this.#template.bound(prompt),
      sampleTokens: this.#facts?.sampleTokens ?? this.#options.expected?.sampleTokens ?? [],
    };
  }

  cacheUsage(): CacheUsage | null {
    return this.#cache;
  }

  generate(request: ConstrainedRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const id = this.#nextId++;
    const stream = new RequestStream<GenerationEvent>(
      {
        start: () => {
          this.#requireHost();
          const ticket = this.#enterQueue(id, request.scope);
          this.#cancelUnload();
          this.#pending.set(id, { stream, ticket });
          this.#host.send({ type: 'generate', id, request }, request.scope);
        },
        consumed: (events) => this.#host.send({ type: 'consumed', id, events }, request.scope),
        cancel: () => {
          if (this.#remove(id) !== null) this.#host.send({ type: 'cancel', id }, request.scope);
        },
      },
      signal,
    );
    return stream;
  }

  async countTokens(prompt: ChatPrompt, scope: string, signal: AbortSignal): Promise<number | null> {
    for await (const event of this.generate({ ...COUNT, prompt, scope }, signal)) {
      if (event.type === 'prompt-end') return event.promptTokens;
    }
    return null;
  }

  /** Does not load an unloaded model: checks that its file is there and has a valid header. */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#host.state.kind === 'unloaded') await requireGguf(this.#options.file);
    else await this.load(signal);
  }

  async load(signal: AbortSignal): Promise<EngineLoad> {
    signal.throwIfAborted();
    const { state } = this.#host;
    if (state.kind === 'unloaded') return { running: 0, waiting: 0, slots: 0 };
    if (state.kind === 'stopped' || state.kind === 'crashed') throw new Error(state.reason);
    const id = this.#nextId++;
    const ping = Promise.withResolvers<EngineLoad>();
    const abort = (): void => ping.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pings.set(id, ping);
    this.#host.send({ type: 'ping', id }, '');
    try {
      return await ping.promise;
    } finally {
      this.#pings.delete(id);
      signal.removeEventListener('abort', abort);
    }
  }

  loadModel(): void {
    if (this.#host.state.kind !== 'unloaded') return;
    // Any message starts the host; the answer to this one is not awaited.
    this.#host.send({ type: 'ping', id: this.#nextId++ }, '');
  }

  unloadModel(): boolean {
    if (this.#pending.size > 0) return false;
    this.#cancelUnload();
    this.#host.unload();
    return true;
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

  /** Throws 503 while the model process cannot serve. */
  #requireHost(): void {
    const { state } = this.#host;
    if (state.kind === 'stopped') throw unavailable(BUSY_RETRY_SECONDS, state.reason);
    if (state.kind === 'crashed') throw unavailable((state.retryAt - Date.now()) / 1_000, state.reason);
  }

  /** Throws 503 when the queue is full and no other organization has more requests in it. */
  #enterQueue(id: number, scope: string): AdmissionTicket {
    return this.#admission.enter({
      scope,
      share: 1 / (this.#options.maxRequests ?? MAX_REQUESTS),
      evict: (error) => {
        this.#host.send({ type: 'cancel', id }, scope);
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

  #remove(id: number): RequestStream<GenerationEvent> | null {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    call?.ticket.leave();
    this.#scheduleUnload();
    return call?.stream ?? null;
  }

  #hostChanged(state: HostState<ModelFacts>): void {
    if (state.kind === 'ready') {
      this.#facts = state.facts;
      this.#template.recordSamples(state.facts.sampleTokens);
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

/** A request whose prompt is counted. */
const COUNT: Omit<ConstrainedRequest, 'prompt' | 'scope'> = {
  isCount: true,
  choices: 1,
  maxTokens: 1,
  stop: [],
  sampling: { temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} },
  format: { type: 'text' },
  logprobs: null,
  promptLogprobs: false,
  incremental: true,
  priority: 'interactive',
};

function unavailable(retryAfterSeconds: number, reason: string): ApiError {
  const message = 'The model is temporarily unavailable; try again in a moment.';
  return engineUnavailable(message, retryAfterSeconds, new Error(reason));
}
