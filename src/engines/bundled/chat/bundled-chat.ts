import type {
  Backend,
  CacheUsage,
  ChatMessage,
  ChatPrompt,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
} from '../../engine.ts';
import type { GuidedRequest } from '../../local/guide.ts';
import type { LocalEngine } from '../../local/local-engine.ts';
import { chooseSentence, type Ranker } from './choose-sentences.ts';
import { guideTools } from './choose-tool.ts';
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
 * The engine of the bundled chat model, which has a few million parameters. It finds the sentence of the passages that
 * answers a question and marks it, and holds the answer to that sentence's own letters; whatever else is asked is the
 * model's own to say.
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
    return { ...this.#engine.features(), readsPassages: answersFromPassages };
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

  /** One call to a turn was trained; what it calls, and whether it does, is guided. */
  #calling(
    request: GenerationRequest,
    prompt: ChatPrompt,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, void, undefined> {
    const guided = { ...request, prompt: { ...prompt, parallelToolCalls: false }, guide: guideTools(prompt) };
    return this.#engine.generate(guided, signal);
  }

  /** The request with the sentence that answers marked, to which the answer is held. */
  async #quoting(
    request: GenerationRequest,
    prompt: ChatPrompt,
    reading: Reading,
    signal: AbortSignal,
  ): Promise<GuidedRequest> {
    const { passages, question, before, decline, sure } = reading;
    const ranker = rankerFor(this.#ranker, request.scope);
    const { shown, answer } = await chooseSentence(passages, `${before} ${question}`.trim(), ranker, signal);
    if (answer === null && !sure) return request;
    const messages: ChatMessage[] = [{ role: 'user', content: question }];
    return {
      ...request,
      prompt: { ...prompt, messages, tools: [], toolChoice: 'none' },
      guide: { passages: shown, answers: [answer ?? decline ?? NOT_FOUND] },
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
 * Whether passages would be looked at: the last message is a question, and no tools are beside it, as a model so small takes their words for
 * what is to be called.
 */
function answersFromPassages(prompt: ChatPrompt): boolean {
  return !mayCall(prompt) && readPassages({ ...prompt, passages: [] }) !== null;
}
