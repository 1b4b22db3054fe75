/** Scripted model calls for tests of responses. */
import type { ChatPrompt, GenerationEvent } from '../src/engines/engine.ts';
import { newId } from '../src/lib/ids.ts';
import { type ScriptedCall, type ScriptedEngine, stream } from './scripted-engine.ts';

/** A model call: an error to throw, or events without `prompt-end` and `usage`. */
export type ScriptedTurn = Error | readonly GenerationEvent[];

const PROMPT_TOKENS = 10;
const CACHED_TOKENS = 4;

/** An answer, one token per word. */
export function says(text: string, reason: 'stop' | 'length' = 'stop'): GenerationEvent[] {
  const words = text.match(/\S+\s*/g) ?? [];
  return [
    ...words.map((word): GenerationEvent => ({ type: 'text-delta', choice: 0, text: word, tokens: 1 })),
    { type: 'choice-end', choice: 0, reason },
  ];
}

/** Parallel tool calls, whose arguments arrive in two parts. */
export function calls(...wanted: readonly [name: string, args: object][]): GenerationEvent[] {
  const deltas = wanted.flatMap(([name, args], index): GenerationEvent[] => {
    const json = JSON.stringify(args);
    const common = { type: 'tool-call-delta', choice: 0, index, tokens: 1 } as const;
    return [
      { ...common, id: newId('toolCall'), name, arguments: json.slice(0, 4) },
      { ...common, arguments: json.slice(4) },
    ];
  });
  return [...deltas, { type: 'choice-end', choice: 0, reason: 'tool_calls' }];
}

/** Reasoning before the events of a turn. */
export function thinks(text: string, events: readonly GenerationEvent[]): GenerationEvent[] {
  return [{ type: 'reasoning-delta', choice: 0, text, tokens: 2 }, ...events];
}

/**
 * Plays one turn per model call; the last one again when there are more. Makes the engine look like a model of usual
 * size.
 */
export function playTurns(engine: ScriptedEngine, ...turns: readonly ScriptedTurn[]): void {
  engine.calls.length = 0;
  engine.backend = () => ({ engine: 'local', model: 'scripted', parameters: 8_000_000_000, ready: true });
  engine.play(() => {
    const turn = turns[Math.min(engine.calls.length, turns.length) - 1] ?? [];
    return turn instanceof Error ? failing(turn) : stream(wholeTurn(turn));
  });
}

async function* failing(error: Error): AsyncGenerator<GenerationEvent, void, undefined> {
  yield { type: 'prompt-end', promptTokens: PROMPT_TOKENS, cachedTokens: 0 };
  throw error;
}

function wholeTurn(events: readonly GenerationEvent[]): GenerationEvent[] {
  const tokens = events.reduce((sum, event) => sum + ('tokens' in event ? event.tokens : 0), 0);
  const usage = { promptTokens: PROMPT_TOKENS, cachedTokens: CACHED_TOKENS, completionTokens: tokens };
  return [
    { type: 'prompt-end', promptTokens: PROMPT_TOKENS, cachedTokens: CACHED_TOKENS },
    ...events,
    { type: 'usage', usage },
  ];
}

/** The chat prompt of a model call. */
export function chatPromptOf({ request }: ScriptedCall): ChatPrompt {
  if (request.prompt.kind !== 'chat') throw new Error('the prompt is no chat');
  return request.prompt;
}
