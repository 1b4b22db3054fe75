import type {
  CacheUsage,
  GenerationEngine,
  GenerationEvent,
  GenerationRequest,
  GenerationUsage,
} from '../src/engines/engine.ts';
import type { ServedModel } from '../src/engines/registry.ts';
import { GENERATION } from '../src/models/catalogue.ts';

/** A recorded call of a scripted engine, and whether it was released. */
export interface ScriptedCall {
  request: GenerationRequest;
  signal: AbortSignal;
  /** Set when the generator has ended for any reason. */
  ended: boolean;
}

/** An engine with scripted events, for tests above the engine port. */
export interface ScriptedEngine extends GenerationEngine {
  calls: ScriptedCall[];
  /** Reported prefix cache usage; null by default. */
  cache: CacheUsage | null;
  /** Whether it supports log probabilities of prompts; false by default. */
  judgesPrompts: boolean;
  /** Sets the events of the following calls. */
  play(script: (request: GenerationRequest, signal: AbortSignal) => AsyncIterable<GenerationEvent>): void;
}

/** A chat model bound to the engine; `contractTokens` is its contractual context length. */
export function servedModel(engine: GenerationEngine, contractTokens = 4096): ServedModel {
  return {
    id: 'general-8b',
    createdAt: 1_700_000_000,
    ownedBy: 'quire',
    capabilities: GENERATION,
    maxContextTokens: contractTokens,
    pricing: { prompt: 1, completion: 2, unit: 'per_1k_tokens' },
    engine,
  };
}

/** Events of a completion of words, one token per delta. */
export function words(text: string, reason: 'stop' | 'length' = 'stop', promptTokens = 7): GenerationEvent[] {
  const pieces = text.match(/\S+\s*/g) ?? [];
  return [
    { type: 'prompt-end', promptTokens, cachedTokens: 0 },
    ...pieces.map((piece): GenerationEvent => ({ type: 'text-delta', choice: 0, text: piece, tokens: 1 })),
    { type: 'choice-end', choice: 0, reason },
    { type: 'usage', usage: { promptTokens, cachedTokens: 0, completionTokens: pieces.length } },
  ];
}

/** Replaces the usage that events report. */
export const withUsage = (events: readonly GenerationEvent[], usage: GenerationUsage): GenerationEvent[] =>
  events.map((event) => (event.type === 'usage' ? { ...event, usage } : event));

/** Creates an async iterable of the items. */
export async function* stream<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const item of items) yield item;
}

/** Rejects with the signal's reason when the signal aborts: a stalled engine. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Creates a scripted engine. Until `play` is called, completions are `Hello there.`. */
export function scriptedEngine(contextTokens = 4096): ScriptedEngine {
  let script: Parameters<ScriptedEngine['play']>[0] = () => stream(words('Hello there.'));
  const calls: ScriptedCall[] = [];
  const engine: ScriptedEngine = {
    calls,
    cache: null,
    judgesPrompts: false,
    play: (next) => {
      script = next;
    },
    backend: () => ({ engine: 'local', model: 'scripted', parameters: 1, ready: true }),
    contextLength: () => contextTokens,
    features: () => ({ suffix: false, promptLogprobs: engine.judgesPrompts }),
    cacheUsage: () => engine.cache,
    check: async () => {},
    close: async () => {},
    async *generate(request, signal) {
      const call: ScriptedCall = { request, signal, ended: false };
      calls.push(call);
      try {
        for await (const event of script(request, signal)) {
          signal.throwIfAborted();
          yield event;
        }
      } finally {
        call.ended = true;
      }
    },
  };
  return engine;
}
