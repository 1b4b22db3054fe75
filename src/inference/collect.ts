import type { FinishReason, GenerationEvent, GenerationUsage, TokenLogprob, ToolCall } from '../engines/engine.ts';

/** One whole answer. */
export interface CollectedChoice {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  /** Null unless log probabilities were asked for. */
  logprobs: TokenLogprob[] | null;
  reason: FinishReason;
}

/** All answers of one generation. */
export interface Collected {
  choices: CollectedChoice[];
  usage: GenerationUsage;
}

/** Gathers a generation into whole answers: what a stream of the same events adds up to. */
export async function collect(events: AsyncIterable<GenerationEvent>, choiceCount: number): Promise<Collected> {
  const choices = Array.from({ length: choiceCount }, newChoice);
  let usage: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  for await (const event of events) {
    if (event.type === 'usage') usage = event.usage;
    else if (event.type !== 'prompt-end') addEvent(choices[event.choice], event);
  }
  return { choices, usage };
}

function newChoice(): CollectedChoice {
  return { text: '', reasoning: '', toolCalls: [], logprobs: null, reason: 'stop' };
}

function addEvent(
  choice: CollectedChoice | undefined,
  event: Exclude<GenerationEvent, { type: 'usage' | 'prompt-end' }>,
): void {
  if (choice === undefined) throw new Error(`the engine answered choice ${event.choice}, which was not asked for`);
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
  }
}
