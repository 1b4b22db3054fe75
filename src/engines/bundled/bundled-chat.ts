import {
  type AnswerServices,
  constrainJson,
  constrainToTool,
  extractQuestionContext,
  findAnswer,
  NO_ANSWER_TEXT,
  type QuestionContext,
  selectReplies,
} from '@quire/bundled-models';
import { splitSentences } from '../../lib/sentences.ts';
import { TimeSlice } from '../../lib/time-slices.ts';
import type {
  Backend,
  CacheUsage,
  ChatMessage,
  ChatPrompt,
  DocumentMode,
  EngineLoad,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
  OutputFormat,
} from '../engine.ts';
import type { LocalEngine } from '../llama/engine/local-engine.ts';
import type { ConstrainedRequest } from '../llama/engine/tool-constraint.ts';
import type { RerankEngine } from '../rerank-engine.ts';
import { DeferredStream } from './deferred-stream.ts';

/** UTF-8 bytes of the question that the model is shown, from its end. The answer is selected by all of it. */
const MAX_QUESTION_BYTES = 600;

/** Greedy: so small a model writes nonsense otherwise. */
const DEFAULT_TEMPERATURE = 0;
/** Token limit of JSON without `max_tokens`. It is complete at this limit, too. */
const MAX_JSON_TOKENS = 512;

/** The parts of the bundled chat engine. */
export interface BundledChatOptions {
  /** Runs the model; created with `CHAT_TEMPLATE`. Closed with this engine. */
  engine: LocalEngine;
  /** Ranks sentences. Not closed with this engine. */
  ranker: Ranker;
}

type Ranker = Pick<RerankEngine, 'rerank'>;

/**
 * Creates the engine of the bundled chat model, which has a few million parameters. For questions about documents, it
 * selects the section or sentence that answers, marks it in the prompt, and constrains the completion to it. With
 * tools, it constrains calls to the tool that fits, greetings to the replies of the training, and JSON to values of the
 * conversation. What it was not trained for it answers with one sentence about its limits.
 */
export function createBundledChat(options: BundledChatOptions): GenerationEngine {
  return new BundledChat(options);
}

class BundledChat implements GenerationEngine {
  readonly #engine: LocalEngine;
  readonly #ranker: Ranker;

  constructor({ engine, ranker }: BundledChatOptions) {
    this.#engine = engine;
    this.#ranker = ranker;
  }

  backend(): Backend {
    return this.#engine.backend();
  }

  contextLength(): number | null {
    return this.#engine.contextLength();
  }

  features(): GenerationFeatures {
    return { ...this.#engine.features(), documentMode: bundledDocumentMode, defaultTemperature: DEFAULT_TEMPERATURE };
  }

  cacheUsage(): CacheUsage | null {
    return this.#engine.cacheUsage();
  }

  generate(given: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const { sampling } = given;
    const request = { ...given, sampling: { ...sampling, temperature: sampling.temperature ?? DEFAULT_TEMPERATURE } };
    const { prompt, format } = request;
    if (prompt.kind === 'text') return this.#engine.generate(request, signal);
    if (format.type !== 'text') return this.#engine.generate(constrainFormat(request, prompt), signal);
    if (allowsToolCalls(prompt)) return this.#generateWithTools(request, prompt, signal);
    const context = extractQuestionContext(prompt);
    if (context === null) return this.#engine.generate(constrainReply(request, prompt), signal);
    return new DeferredStream(async (leaving) => {
      const constrained = await this.#constrainToAnswer(request, prompt, context, leaving);
      return this.#engine.generate(constrained, signal);
    }, signal);
  }

  countTokens(prompt: ChatPrompt, scope: string, signal: AbortSignal): Promise<number | null> {
    return this.#engine.countTokens(prompt, scope, signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#engine.check(signal);
  }

  load(signal: AbortSignal): Promise<EngineLoad> {
    return this.#engine.load(signal);
  }

  get hostPid(): number | null {
    return this.#engine.hostPid;
  }

  loadModel(): void {
    this.#engine.loadModel();
  }

  unloadModel(): boolean {
    return this.#engine.unloadModel();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  #generateWithTools(
    request: GenerationRequest,
    prompt: ChatPrompt,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const toolConstraint = constrainToTool(prompt);
    const parallelToolCalls = toolConstraint.sequence !== undefined;
    return this.#engine.generate(
      { ...request, prompt: { ...prompt, parallelToolCalls }, toolConstraint, cutsRepetition: true },
      signal,
    );
  }

  /** Marks the text that answers in the prompt, and constrains the completion to it. */
  async #constrainToAnswer(
    request: GenerationRequest,
    prompt: ChatPrompt,
    context: QuestionContext,
    signal: AbortSignal,
  ): Promise<ConstrainedRequest> {
    const { shown, answer } = await findAnswer(context, answerServices(this.#ranker, request.scope), signal);
    if (answer === null && !context.isCertain) return constrainReply(request, prompt);
    const messages: ChatMessage[] = [{ role: 'user', content: lastBytes(context.question, MAX_QUESTION_BYTES) }];
    return {
      ...request,
      sentPrompt: prompt,
      prompt: { ...prompt, messages, tools: [], toolChoice: 'none', documents: shown },
      format: { type: 'choice', choices: [answer ?? context.fallback ?? NO_ANSWER_TEXT] },
    };
  }
}

/** Constrains JSON to values of the conversation, where the format accepts some. */
function constrainFormat(request: GenerationRequest, prompt: ChatPrompt): ConstrainedRequest {
  const { format, maxTokens } = request;
  if ((format.type !== 'json_object' && format.type !== 'json_schema') || allowsToolCalls(prompt)) return request;
  const limit = maxTokens ?? MAX_JSON_TOKENS;
  return { ...request, narrowedFormat: constrainJson(prompt, format, limit), maxTokens: limit };
}

/** Constrains a reply to texts that the model generates reliably. After another role than `user` it is free. */
function constrainReply(request: GenerationRequest, prompt: ChatPrompt): ConstrainedRequest {
  if (prompt.messages.at(-1)?.role !== 'user') return { ...request, cutsRepetition: true };
  return { ...request, format: { type: 'choice', choices: selectReplies(prompt.messages) } };
}

/** Returns the end of a text, at most `bytes` UTF-8 bytes long. */
function lastBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  return encoded
    .subarray(-bytes)
    .toString()
    .replace(/^\ufffd+/, '');
}

/** Services of answer selection for an organization: reranker queue and event loop are shared fairly. */
export function answerServices(ranker: Ranker, scope = ''): AnswerServices {
  return {
    rerank: (request, signal) => ranker.rerank({ ...request, scope }, signal),
    splitSentences,
    startSlice: () => new TimeSlice(scope),
  };
}

/** Whether the completion may contain tool calls. */
function allowsToolCalls({ tools, toolChoice }: ChatPrompt): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}

/**
 * How the bundled chat model takes documents. They are read when the last message is a question. They are ignored when
 * tools are given, because so small a model copies their words into arguments. For JSON they are rendered into
 * messages, because only plain text can be a quotation.
 */
export function bundledDocumentMode(prompt: ChatPrompt, format: OutputFormat): DocumentMode {
  if (format.type !== 'text') return 'rendered';
  if (allowsToolCalls(prompt)) return 'ignored';
  return extractQuestionContext({ ...prompt, documents: [] }) === null ? 'ignored' : 'selective';
}
