import type {
  Backend,
  CacheUsage,
  ChatMessage,
  ChatPrompt,
  DocumentMode,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
  OutputFormat,
} from '../../engine.ts';
import type { LocalEngine } from '../../llama/engine/local-engine.ts';
import type { ConstrainedRequest } from '../../llama/engine/tool-constraint.ts';
import { constrainToTool } from './constrain-tool.ts';
import { DeferredStream } from './deferred-stream.ts';
import { extractQuestionContext, type QuestionContext } from './extract-passages.ts';
import { type AnswerRanker, selectAnswer } from './select-answer.ts';

/** The reply when no passage answers. The model was trained on it. */
export const NO_ANSWER_TEXT = 'I could not find that in the documents.';

/** The parts of the bundled chat engine. */
export interface BundledChatOptions {
  /** Runs the model; created with `CHAT_TEMPLATE`. Closed with this engine. */
  engine: LocalEngine;
  /** Ranks sentences. Not closed with this engine. */
  ranker: AnswerRanker;
}

/**
 * Creates the engine of the bundled chat model, which has a few million parameters. For questions about documents, it selects
 * the sentence that answers, marks it in the prompt, and constrains the completion to it. With tools, it constrains calls to
 * the tool that fits. Everything else goes to the model unchanged.
 */
export function createBundledChat(options: BundledChatOptions): GenerationEngine {
  return new BundledChat(options);
}

class BundledChat implements GenerationEngine {
  readonly #engine: LocalEngine;
  readonly #ranker: AnswerRanker;

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
    return { ...this.#engine.features(), documentMode };
  }

  cacheUsage(): CacheUsage | null {
    return this.#engine.cacheUsage();
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const { prompt, format } = request;
    if (prompt.kind === 'text' || format.type !== 'text') return this.#engine.generate(request, signal);
    if (allowsToolCalls(prompt)) return this.#generateWithTools(request, prompt, signal);
    const context = extractQuestionContext(prompt);
    if (context === null) return this.#engine.generate(request, signal);
    return new DeferredStream(async (leaving) => {
      const constrained = await this.#constrainToAnswer(request, prompt, context, leaving);
      return this.#engine.generate(constrained, signal);
    }, signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#engine.check(signal);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  /** The model was trained on single calls, not on parallel ones. */
  #generateWithTools(
    request: GenerationRequest,
    prompt: ChatPrompt,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const single = { ...prompt, parallelToolCalls: false };
    return this.#engine.generate({ ...request, prompt: single, toolConstraint: constrainToTool(prompt) }, signal);
  }

  /** Marks the sentence that answers in the prompt, and constrains the completion to it. */
  async #constrainToAnswer(
    request: GenerationRequest,
    prompt: ChatPrompt,
    context: QuestionContext,
    signal: AbortSignal,
  ): Promise<ConstrainedRequest> {
    const { passages, question, previousQuestion, fallback, isCertain } = context;
    const ranker = rankerFor(this.#ranker, request.scope);
    const { shown, answer } = await selectAnswer(passages, `${previousQuestion} ${question}`.trim(), ranker, signal);
    if (answer === null && !isCertain) return request;
    const messages: ChatMessage[] = [{ role: 'user', content: question }];
    return {
      ...request,
      sentPrompt: prompt,
      prompt: { ...prompt, messages, tools: [], toolChoice: 'none', documents: shown },
      format: { type: 'choice', choices: [answer ?? fallback ?? NO_ANSWER_TEXT] },
    };
  }
}

/** Binds the ranker to an organization, among which its queue is shared fairly. */
function rankerFor(ranker: AnswerRanker, scope: string): AnswerRanker {
  return { rerank: (request, signal) => ranker.rerank({ ...request, scope }, signal) };
}

/** Whether the completion may contain tool calls. */
function allowsToolCalls({ tools, toolChoice }: ChatPrompt): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}

/**
 * Documents are read when the last message is a question. They are ignored when tools are given, because so small a model
 * copies their words into arguments. For JSON they are rendered into messages, because only plain text can be a quotation.
 */
function documentMode(prompt: ChatPrompt, format: OutputFormat): DocumentMode {
  if (format.type !== 'text') return 'rendered';
  if (allowsToolCalls(prompt)) return 'ignored';
  return extractQuestionContext({ ...prompt, documents: [] }) === null ? 'ignored' : 'selective';
}
