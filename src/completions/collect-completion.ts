import type { GenerationEvent, GenerationUsage, PromptToken } from '../engines/engine.ts';
import { type Collected, type CollectedChoice, collect } from '../inference/collect.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { viewUsage } from '../inference/view-generation.ts';
import { joinLogprobs, legacyLogprobs, meanLogprob, promptLogprobs } from './legacy-logprobs.ts';
import type { Completion } from './schema.ts';
import type { CompletionRun } from './start-completion.ts';

/** Collects a started text completion into the non-streamed response. Equals the concatenation of its stream. */
export async function collectCompletion(run: CompletionRun): Promise<Completion> {
  const { inputs, choicesPerPrompt, echoesPrompt, showsLogprobs } = run.completion;
  const prompts = await collectPrompts(run);
  return {
    id: run.id,
    object: 'text_completion',
    ...run.head,
    choices: prompts.flatMap(({ collected, promptTokens }, prompt) => {
      const echo = echoesPrompt ? (inputs[prompt]?.prompt.text ?? '') : '';
      return bestChoices(collected.choices, choicesPerPrompt).map((choice, position) => ({
        text: echo + choice.text,
        index: prompt * choicesPerPrompt + position,
        logprobs: showsLogprobs ? choiceLogprobs(choice, echo, promptTokens) : null,
        finish_reason: finishReason(choice.reason),
      }));
    }),
    usage: viewUsage(prompts.map(({ collected }) => collected.usage).reduce(addUsage)),
    ...viewNotices(run.notices()),
  };
}

function choiceLogprobs(choice: CollectedChoice, echo: string, promptTokens: readonly PromptToken[]) {
  const generated = legacyLogprobs(choice.logprobs ?? [], echo.length);
  return echo === '' ? generated : joinLogprobs(promptLogprobs(promptTokens, echo), generated);
}

/** Collected choices and log probabilities of one prompt. */
interface CollectedPrompt {
  collected: Collected;
  promptTokens: readonly PromptToken[];
}

/** Splits the merged events by prompt and collects each prompt. */
async function collectPrompts(run: CompletionRun): Promise<CollectedPrompt[]> {
  const prompts = run.completion.inputs.map(() => ({
    events: [] as GenerationEvent[],
    promptTokens: [] as readonly PromptToken[],
  }));
  await run.started;
  for await (const { prompt, event } of run.events) {
    const target = prompts[prompt];
    if (target === undefined) continue;
    if (event.type === 'prompt-logprobs') target.promptTokens = event.tokens;
    else target.events.push(event);
  }
  return Promise.all(
    prompts.map(async ({ events, promptTokens }) => ({
      promptTokens,
      collected: await collect(events, run.completion.inputs[0].choices),
    })),
  );
}

/** Returns the `count` choices with the highest mean log probability, best first; all in their order if not more. */
function bestChoices(choices: CollectedChoice[], count: number): CollectedChoice[] {
  if (choices.length <= count) return choices;
  return choices.toSorted((a, b) => meanLogprob(b.logprobs) - meanLogprob(a.logprobs)).slice(0, count);
}

/** Adds the usage of two generations. */
export function addUsage(a: GenerationUsage, b: GenerationUsage): GenerationUsage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    reasoningTokens: (a.reasoningTokens ?? 0) + (b.reasoningTokens ?? 0),
    ...addDetails('promptDetails', a, b),
    ...addDetails('completionDetails', a, b),
  };
}

/** Adds the counts that both report. */
function addDetails(
  field: 'promptDetails' | 'completionDetails',
  { [field]: a = {} }: GenerationUsage,
  { [field]: b = {} }: GenerationUsage,
) {
  const other: Record<string, number> = b;
  const shared = Object.entries(a).filter(([name]) => other[name] !== undefined);
  return shared.length === 0
    ? {}
    : { [field]: Object.fromEntries(shared.map(([name, tokens]) => [name, tokens + (other[name] ?? 0)])) };
}

/** Text completions have no tools: maps `tool_calls` of upstreams to `stop`. */
export function finishReason(reason: CollectedChoice['reason']): 'stop' | 'length' | 'content_filter' {
  return reason === 'tool_calls' ? 'stop' : reason;
}
