import type { GenerationRequest } from '../../src/engines/engine.ts';
import { createLocalEngine, type LocalEngine } from '../../src/engines/llama/engine/local-engine.ts';
import { createLogger } from '../../src/lib/logger.ts';

/** Maximum tokens of a generated value. Truncated values are counted separately. */
const MAX_TOKENS = 400;
const TEMPERATURE = 2;
const TIMEOUT_MS = 60_000;

/** One generated text, and whether it was cut before its end. */
export interface Generated {
  text: string;
  isCut: boolean;
}

/** The engine that outputs are generated with, one answer at a time. */
export function startEngine(file: string): LocalEngine {
  return createLocalEngine({
    file,
    name: 'quire-chat-2',
    kind: 'local',
    contextTokens: 1024,
    slots: 1,
    threads: 1,
    logger: createLogger('silent'),
  });
}

/**
 * Lets the model write a value for `schema`, as hot as the interface allows. Null: it was refused, or took too long.
 */
export async function generate(
  engine: LocalEngine,
  schema: Record<string, unknown>,
  seed: number,
): Promise<Generated | null> {
  const request: GenerationRequest = {
    prompt: { kind: 'text', text: 'A JSON value: ', suffix: null },
    choices: 1,
    maxTokens: MAX_TOKENS,
    stop: [],
    sampling: { temperature: TEMPERATURE, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed, logitBias: {} },
    format: { type: 'json_schema', name: 'value', strict: true, schema },
    logprobs: null,
    promptLogprobs: false,
    incremental: false,
    scope: 'evaluation',
    priority: 'interactive',
  };
  let text = '';
  let isCut = true;
  try {
    for await (const event of engine.generate(request, AbortSignal.timeout(TIMEOUT_MS))) {
      if (event.type === 'text-delta') text += event.text;
      else if (event.type === 'choice-end') isCut = event.reason !== 'stop';
    }
  } catch {
    return null;
  }
  return { text, isCut };
}
