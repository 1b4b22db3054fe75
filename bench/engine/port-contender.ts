import type { GenerationRequest } from '../../src/engines/engine.ts';
import {
  createLocalEngine,
  type LocalEngine,
  type LocalEngineOptions,
} from '../../src/engines/llama/engine/local-engine.ts';
import { createLogger } from '../../src/lib/logger.ts';
import type { Ask, EngineAnswer, EngineContender } from './contender.ts';

const LOAD_LIMIT_MS = 120_000;

/** Quire's engine without the service around it. */
export interface PortContender extends EngineContender {
  engine: LocalEngine;
}

/** Loads a model into an engine of its own. */
export async function startPort(
  name: string,
  options: Omit<LocalEngineOptions, 'name' | 'kind' | 'logger'>,
): Promise<PortContender> {
  const engine = createLocalEngine({ ...options, name: 'bench', kind: 'local', logger: createLogger('warn') });
  await engine.check(AbortSignal.timeout(LOAD_LIMIT_MS));
  return {
    name,
    engine,
    ask: (ask, signal) => askPort(engine, greedy(ask), signal ?? new AbortController().signal),
    stop: () => engine.close(),
  };
}

/** A greedy request for a bare text; `changes` replaces parts of it. */
export function greedy(ask: Ask, changes: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    prompt: { kind: 'text', text: ask.prompt, suffix: null },
    choices: 1,
    maxTokens: ask.maxTokens,
    stop: [],
    sampling: { temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} },
    format: { type: 'text' },
    logprobs: null,
    promptLogprobs: false,
    incremental: true,
    scope: 'bench',
    priority: 'interactive',
    ...changes,
  };
}

/** Runs a request and records the times of its tokens. An abort returns the tokens so far. */
export async function askPort(
  engine: LocalEngine,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const answer: EngineAnswer = {
    askedMs: performance.now(),
    endedMs: 0,
    arrivals: [],
    text: '',
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
  };
  try {
    for await (const event of engine.generate(request, signal)) {
      if (event.type === 'text-delta') {
        answer.arrivals.push({ atMs: performance.now(), tokens: event.tokens });
        answer.text += event.text;
      } else if (event.type === 'usage') Object.assign(answer, event.usage);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  answer.endedMs = performance.now();
  return answer;
}
