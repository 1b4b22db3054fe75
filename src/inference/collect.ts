import type { FinishReason, GenerationEvent, GenerationUsage, TokenLogprob, ToolCall } from '../engines/engine.ts';

/** One complete answer. */
export interface CollectedChoice {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  /** Null unless the request asked for log probabilities. */
  logprobs: TokenLogprob[] | null;
  reason: FinishReason;
  /** The stop sequence that ended the answer, if the engine knows it. */
  stopSequence: string | null;
}

/** All answers of one generation. */
export interface Collected {
  choices: CollectedChoice[];
  usage: GenerationUsage;
}

/** Collects the events of a generation into complete answers, equal to the concatenated stream. */
export async function collect(
  events: AsyncIterable<GenerationEvent> | Iterable<GenerationEvent>,
  choiceCount: number,
): Promise<Collected> {
  const choices = Array.from({ length: choiceCount }, newChoice);
  let usage: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  for await (const event of events) {
    if (event.type === 'usage') usage = event.usage;
    else if (event.type !== 'prompt-end') addEvent(choices[event.choice], event);
  }
  return { choices, usage };
}

function newChoice(): CollectedChoice {
  return { text: '', reasoning: '', toolCalls: [], logprobs: null, reason: 'stop', stopSequence: null };
}

function addEvent(
  choice: CollectedChoice | undefined,
  event: Exclude<GenerationEvent, { type: 'usage' | 'prompt-end' }>,
): void {
  if (choice === undefined)
    throw new Error(`the engine sent an event of choice ${event.choice}, which was not requested`);
  switch (event.type) {
    case 'text-delta':
      choice.text += event.text;
      if (event.logprobs !== undefined) {
        choice.logprobs ??= [];
        choice.logprobs.push(...event.logprobs);
      }
      return;
    case 'reasoning-delta':
      choice.reasoning += event.text;
      return;
    case 'tool-call-delta': {
      choice.toolCalls[event.index] ??= {
        id: event.id ?? '',
        type: 'function',
        function: { name: event.name ?? '', arguments: '' },
      };
      const call = choice.toolCalls[event.index];
      if (call !== undefined) call.function.arguments += event.arguments;
      return;
    }
    case 'choice-end':
      choice.reason = event.reason;
      choice.stopSequence = event.stopSequence ?? null;
  }
}
