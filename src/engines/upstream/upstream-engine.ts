import { isRecord } from '../../lib/json.ts';
import type {
  AffinityCounts,
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
import type { AdmissionTicket } from '../fair-admission.ts';
import { TemplateTokens } from '../template-tokens.ts';
import { CompletionStream } from './completion-stream.ts';
import { createOpenAiDialect, type GenerationDialect } from './generation-dialect.ts';
import { CALLER_LEFT, GenerationIterator } from './generation-iterator.ts';
import { DialectMismatchError, type JsonRequest } from './json-request.ts';
import { arrangePrompt, LearnedRoles } from './learned-roles.ts';
import { MessagesDialect } from './messages/messages-dialect.ts';
import { serializeMessage } from './request-body.ts';
import { findSchemaViolation } from './schema-validator.ts';
import { type CompletionContext, openCompletion } from './start-completion.ts';
import { UpstreamClient, type UpstreamClientOptions } from './upstream-client.ts';
import { completeTexts, passesSchemaProbe, SCHEMA_PROBE, schemaNotEnforced } from './validate-completion.ts';

/** Requests for a completion that matches its JSON schema. */
const SCHEMA_ATTEMPTS = 2;

/** Options of an upstream engine. */
export interface UpstreamOptions extends UpstreamClientOptions {
  /** Context length in tokens; a smaller one that the upstream reports wins. Null: as the upstream reports. */
  contextLength: number | null;
}

/**
 * Creates a generation engine on servers of one API. Probes each of them once in the background, so that `backend`
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

const readTokenCount = (response: unknown): number | null =>
  isRecord(response) && typeof response['count'] === 'number' ? response['count'] : null;

/** Whether a prompt has only its messages: servers describe formats in it, and parameters may add to it. */
function isPlain({ type }: OutputFormat, parameters: GenerationRequest['upstreamParameters'] = {}): boolean {
  return type === 'text' && Object.keys(parameters).length === 0;
}

class UpstreamEngine implements GenerationEngine {
  readonly #client: UpstreamClient;
  readonly #context: CompletionContext;
  readonly #contextLength: number | null;
  readonly #running = new Set<AbortController>();
  readonly #template = new TemplateTokens();

  constructor(options: UpstreamOptions) {
    this.#client = new UpstreamClient(options);
    this.#contextLength = options.contextLength;
    this.#context = {
      ...this.#client.context,
      dialect: this.#createDialect(options),
      contextLength: () => this.contextLength(),
      roles: new LearnedRoles(() => this.#client.info.weights),
    };
    this.#client.closing.addEventListener('abort', ({ target }) => {
      for (const controller of this.#running) controller.abort((target as AbortSignal).reason);
    });
  }

  #createDialect({ protocol, model }: UpstreamOptions): GenerationDialect {
    if (protocol === 'anthropic')
      return new MessagesDialect({ model, outputLimit: () => this.#client.info.outputTokens });
    const isVllm = () => this.#client.info.ownedBy === 'vllm';
    return createOpenAiDialect(
      () => ({ model, isVllm: isVllm() }),
      // Other servers tokenize texts, and their chat templates are not known.
      (prompt) => (isVllm() ? { request: tokenizeRequest(model, prompt), read: readTokenCount } : null),
    );
  }

  backend(): Backend {
    return this.#client.backend();
  }

  contextLength(): number | null {
    const reported = this.#client.info.contextLength;
    if (this.#contextLength === null || reported === null) return this.#contextLength ?? reported;
    return Math.min(this.#contextLength, reported);
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
    this.#client.requireOpen();
    const count = this.#context.dialect.countTokens(arrangePrompt(prompt, this.#context.roles.traits));
    if (count === null) return null;
    try {
      return await this.#client.sendJsonRequest(count.request, count.read, signal);
    } catch (error) {
      if (error instanceof DialectMismatchError) return null;
      throw error;
    }
  }

  async enforcesSchemas(signal: AbortSignal): Promise<boolean> {
    const iterator = new GenerationIterator((controller) => this.#run(SCHEMA_PROBE, signal, controller));
    return passesSchemaProbe(await Array.fromAsync(iterator));
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#client.check(signal);
  }

  servers(): ServerState[] {
    return this.#client.servers();
  }

  affinity(): AffinityCounts {
    return this.#client.affinity();
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #recordTemplate({ prompt, format, upstreamParameters }: GenerationRequest, promptTokens: number | null): void {
    if (prompt.kind !== 'chat' || promptTokens === null) return;
    if (isPlain(format, upstreamParameters)) this.#template.record(prompt, promptTokens);
  }

  /** Validates a complete answer before it is returned. Retries a violation once: not all servers enforce schemas. */
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
    this.#client.requireOpen();
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
      ticket = this.#client.enter(request.scope, (error) => controller.abort(error));
      const started = await openCompletion(this.#context, request, signal);
      ticket.markStarted();
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
