import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type {
  Backend,
  CacheUsage,
  ChatPrompt,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
  OutputFormat,
  ServerState,
  TemplateInput,
} from '../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../fair-admission.ts';
import { TemplateTokens } from '../template-tokens.ts';
import { CompletionStream } from './completion-stream.ts';
import { CALLER_LEFT, GenerationIterator } from './generation-iterator.ts';
import { DialectMismatchError, type JsonRequest, sendJsonRequest } from './json-request.ts';
import { probe } from './probe.ts';
import { type ProxySettings, type Replica, Replicas } from './replicas.ts';
import { serializeMessage } from './request-body.ts';
import { findSchemaViolation } from './schema-validator.ts';
import { type CompletionContext, openCompletion } from './start-completion.ts';
import { DEFAULT_TIMEOUTS, type UpstreamTimeouts } from './timeouts.ts';
import { isRecord } from './upstream-chunk.ts';
import { completeTexts, passesSchemaProbe, SCHEMA_PROBE, schemaNotEnforced } from './validate-completion.ts';

/** Maximum requests per base URL; each holds its prompt or texts in memory. */
export const MAX_REQUESTS_PER_REPLICA = 4096;
/** `Retry-After` of rejected requests. */
const BUSY_RETRY_SECONDS = 1;

/** Requests for a completion that matches its JSON schema. */
const SCHEMA_ATTEMPTS = 2;

/** Options of an upstream engine. */
export interface UpstreamOptions {
  /** At least one; see `parseEndpoints` for the format. All serve the same model. */
  baseUrls: readonly string[];
  /** The upstream's own name of the model. */
  model: string;
  /** Sent as `Authorization: Bearer`; null: not sent. */
  apiKey: string | null;
  /** Context length in tokens that the operator sets; a smaller one that the upstream reports wins. Null: as the upstream reports. */
  contextLength: number | null;
  /** Null: no proxy. The environment is not read. */
  proxy: ProxySettings | null;
  timeouts?: Partial<UpstreamTimeouts>;
  /** Maximum connections per base URL; further requests wait. 1024 by default. */
  maxConnections?: number;
  /** Maximum requests per base URL, waiting ones included. 4096 by default. */
  maxRequests?: number;
  logger: Logger;
}

/**
 * Creates a generation engine on OpenAI-style servers. Probes each of them once in the background, so that `backend`
 * and `contextLength` are known soon. Throws a TypeError for an invalid base URL.
 */
export function createUpstreamEngine(options: UpstreamOptions): GenerationEngine {
  return new UpstreamEngine(options);
}

/** Maximum bytes of a response: the token ids of a long prompt. */
const MAX_TOKENS_BYTES = 16 * 1024 * 1024;

function tokenizeRequest(model: string, prompt: ChatPrompt): JsonRequest {
  const messages = prompt.messages.map(serializeMessage);
  const tools = prompt.tools.length > 0 ? { tools: prompt.tools } : {};
  return {
    endpoint: 'tokenize',
    body: JSON.stringify({ model, messages, ...tools, add_generation_prompt: true }),
    param: 'messages',
    maxResponseBytes: MAX_TOKENS_BYTES,
    otherDialect: new Set([400, 404, 405, 415, 422, 501]),
  };
}

/** Whether a prompt has only its messages: servers describe formats in it, and parameters may add to it. */
function isPlain({ type }: OutputFormat, parameters: GenerationRequest['upstreamParameters'] = {}): boolean {
  return type === 'text' && Object.keys(parameters).length === 0;
}

class UpstreamEngine implements GenerationEngine {
  readonly #options: UpstreamOptions;
  readonly #timeouts: UpstreamTimeouts;
  readonly #headers: Record<string, string>;
  readonly #replicas: Replicas;
  readonly #running = new Set<AbortController>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  readonly #context: CompletionContext;
  #closed: ApiError | null = null;
  /** Whether any server has responded. Before that, the backend is not ready. */
  #answered = false;
  #contextLength: number | null = null;
  #isVllm = false;
  readonly #template = new TemplateTokens();

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.#headers = { 'content-type': 'application/json', 'user-agent': 'quire' };
    if (options.apiKey !== null) this.#headers['authorization'] = `Bearer ${options.apiKey}`;
    this.#replicas = new Replicas({
      baseUrls: options.baseUrls,
      proxy: options.proxy,
      timeouts: this.#timeouts,
      logger: options.logger,
      ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
      probe: (replica, signal) => this.#probe(replica, signal),
    });
    this.#context = {
      replicas: this.#replicas,
      headers: this.#headers,
      apiKey: options.apiKey,
      timeouts: this.#timeouts,
      facts: () => ({ model: options.model, isVllm: this.#isVllm }),
      contextLength: () => this.contextLength(),
    };
    for (const replica of this.#replicas.all) void this.#replicas.probe(replica);
  }

  backend(): Backend {
    const ready = this.#answered && !this.#closed && this.#replicas.all.some(({ ejectedAt }) => ejectedAt === null);
    return { engine: 'upstream', model: this.#options.model, parameters: null, ready };
  }

  contextLength(): number | null {
    const { contextLength } = this.#options;
    if (contextLength === null || this.#contextLength === null) return contextLength ?? this.#contextLength;
    return Math.min(contextLength, this.#contextLength);
  }

  features(): GenerationFeatures {
    const templateTokens = ({ prompt, format, upstreamParameters }: TemplateInput) =>
      isPlain(format, upstreamParameters) ? this.#template.bound(prompt) : null;
    // Only the upstream knows whether the model supports it; its error reaches the caller as 400.
    return { suffix: true, promptLogprobs: false, templateTokens };
  }

  cacheUsage(): CacheUsage | null {
    return null;
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const { format, incremental } = request;
    if (format.type !== 'json_schema' || incremental)
      return new GenerationIterator((controller) => this.#run(request, signal, controller));
    return new GenerationIterator((controller) => this.#runValidated(request, format.schema, { signal, controller }));
  }

  async countTokens(prompt: ChatPrompt, _scope: string, signal: AbortSignal): Promise<number | null> {
    if (this.#closed) throw this.#closed;
    // Other servers tokenize texts, and their chat templates are not known.
    if (!this.#isVllm) return null;
    try {
      const response = await sendJsonRequest(this.#context, tokenizeRequest(this.#options.model, prompt), signal);
      return isRecord(response) && typeof response['count'] === 'number' ? response['count'] : null;
    } catch (error) {
      if (error instanceof DialectMismatchError) return null;
      throw error;
    }
  }

  async enforcesSchemas(signal: AbortSignal): Promise<boolean> {
    const iterator = new GenerationIterator((controller) => this.#run(SCHEMA_PROBE, signal, controller));
    return passesSchemaProbe(await Array.fromAsync(iterator));
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#replicas.check(signal);
  }

  servers(): ServerState[] {
    return this.#replicas.states();
  }

  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const controller of this.#running) controller.abort(this.#closed);
    await this.#replicas.close(this.#closed);
  }

  #recordTemplate({ prompt, format, upstreamParameters }: GenerationRequest, promptTokens: number | null): void {
    if (prompt.kind !== 'chat' || promptTokens === null) return;
    if (isPlain(format, upstreamParameters)) this.#template.record(prompt, promptTokens);
  }

  /** Throws 503 when the queue is full and no other organization has more requests in it. */
  #enterQueue(scope: string, controller: AbortController): AdmissionTicket {
    const { maxRequests = MAX_REQUESTS_PER_REPLICA } = this.#options;
    const share = 1 / (maxRequests * this.#replicas.all.length);
    return this.#admission.enter({ scope, share, evict: (error) => controller.abort(error) });
  }

  async #probe(replica: Replica, signal: AbortSignal): Promise<void> {
    const { model } = this.#options;
    const facts = await probe(replica, { model, headers: this.#headers, timeouts: this.#timeouts }, signal);
    this.#answered = true;
    this.#contextLength = facts.contextLength ?? this.#contextLength;
    this.#isVllm = facts.ownedBy === 'vllm';
  }

  /** A complete answer is validated before it is returned. A violation is retried once: not all servers enforce schemas. */
  async *#runValidated(
    request: GenerationRequest,
    schema: object,
    { signal, controller }: { signal: AbortSignal; controller: AbortController },
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    let violation: string | null = null;
    for (let attempt = 1; attempt <= SCHEMA_ATTEMPTS; attempt += 1) {
      const events = await Array.fromAsync(this.#run(request, signal, controller));
      violation = await findSchemaViolation(request.scope, schema, completeTexts(events));
      if (violation === null) return yield* events;
    }
    throw schemaNotEnforced(violation ?? '');
  }

  async *#run(
    request: GenerationRequest,
    caller: AbortSignal,
    controller: AbortController,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    if (this.#closed) throw this.#closed;
    caller.throwIfAborted();
    const onAbort = () => {
      this.#running.delete(controller);
      controller.abort(caller.reason);
    };
    caller.addEventListener('abort', onAbort, { once: true });
    this.#running.add(controller);
    let isComplete = false;
    let ticket: AdmissionTicket | null = null;
    try {
      const { signal } = controller;
      ticket = this.#enterQueue(request.scope, controller);
      const started = await openCompletion(this.#context, request, signal);
      ticket.markStarted();
      this.#answered = true;
      const response = new CompletionStream(this.#context, request, started, signal);
      // One generator for all events: a nested one would cost a microtask per token.
      for (let events = await response.next(); events !== null; events = await response.next()) {
        for (const event of events) {
          signal.throwIfAborted();
          yield event;
        }
      }
      isComplete = true;
      this.#recordTemplate(request, response.reportedPromptTokens);
    } catch (error) {
      if (controller.signal.reason !== CALLER_LEFT) throw controller.signal.aborted ? controller.signal.reason : error;
    } finally {
      caller.removeEventListener('abort', onAbort);
      this.#running.delete(controller);
      ticket?.leave();
      // Cancels what is still in flight for this call; nothing after a complete response.
      if (!isComplete) controller.abort(CALLER_LEFT);
    }
  }
}
