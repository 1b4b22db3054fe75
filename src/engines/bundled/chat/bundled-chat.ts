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
import { chooseSentence, type Ranker } from './choose-sentences.ts';
import { constrainToTool } from './choose-tool.ts';
import { DeferredStream } from './deferred-stream.ts';
import { type Reading, readPassages } from './read-passages.ts';

/** What the model says where nothing is marked; it was trained on these words. */
export const NOT_FOUND = 'I could not find that in the documents.';

/** The chat model that comes with Quire, and what helps it. */
export interface BundledChatOptions {
  /** What runs the model. It is closed with this engine. */
  engine: LocalEngine;
  /** Ranks sentences besides their words; null: words alone. It is not closed with this engine. */
  ranker: Ranker;
}

/**
 * The engine of the bundled chat model, which has a few million parameters. It finds the sentence of the documents that
 * answers a question, marks it, and constrains the answer to its text. The model answers everything else by itself.
 * `engine` must have been created with `CHAT_TEMPLATE`.
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
    return { ...this.#engine.features(), documentMode };
  }

  cacheUsage(): CacheUsage | null {
    return this.#engine.cacheUsage();
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    const { prompt, format } = request;
    if (prompt.kind === 'text' || format.type !== 'text') return this.#engine.generate(request, signal);
    if (mayCall(prompt)) return this.#calling(request, prompt, signal);
    const reading = readPassages(prompt);
    if (reading === null) return this.#engine.generate(request, signal);
    return new DeferredStream(async (leaving) => {
      const quoting = await this.#quoting(request, prompt, reading, leaving);
      return this.#engine.generate(quoting, signal);
    }, signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#engine.check(signal);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  /** The model was trained on one call in a turn. */
  #calling(
    request: GenerationRequest,
    prompt: ChatPrompt,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const single = { ...prompt, parallelToolCalls: false };
    return this.#engine.generate({ ...request, prompt: single, toolConstraint: constrainToTool(prompt) }, signal);
  }

  /** Marks the sentence that answers, and constrains the answer to it. */
  async #quoting(
    request: GenerationRequest,
    prompt: ChatPrompt,
    reading: Reading,
    signal: AbortSignal,
  ): Promise<GenerationRequest> {
    const { passages, question, before, decline, sure } = reading;
    const ranker = rankerFor(this.#ranker, request.scope);
    const { shown, answer } = await chooseSentence(passages, `${before} ${question}`.trim(), ranker, signal);
    if (answer === null && !sure) return request;
    const messages: ChatMessage[] = [{ role: 'user', content: question }];
    return {
      ...request,
      prompt: { ...prompt, messages, tools: [], toolChoice: 'none', documents: shown },
      format: { type: 'choice', choices: [answer ?? decline ?? NOT_FOUND] },
    };
  }
}

/** The ranker as one organization's: its queue is shared fairly among them. */
function rankerFor(ranker: Ranker, scope: string): Ranker {
  if (ranker === null) return null;
  return { rerank: (request, signal) => ranker.rerank({ ...request, scope }, signal) };
}

/** Whether the next message may be a call. */
function mayCall({ tools, toolChoice }: ChatPrompt): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}

/**
 * Documents are read when the last message is a question. Beside tools they are ignored, because a model so small takes
 * their words for arguments. JSON is answered from messages, because only plain text can be copied from a sentence.
 */
function documentMode(prompt: ChatPrompt, format: OutputFormat): DocumentMode {
  if (format.type !== 'text') return 'rendered';
  if (mayCall(prompt)) return 'ignored';
  return readPassages({ ...prompt, documents: [] }) === null ? 'ignored' : 'selective';
}
