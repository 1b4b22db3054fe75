import type { GenerationEvent, GenerationUsage } from '../engines/engine.ts';
import { type Collected, type CollectedChoice, collect } from '../inference/collect.ts';
import { viewUsage } from '../inference/usage-view.ts';
import { legacyLogprobs, meanLogprob } from './legacy-logprobs.ts';
import type { Completion, CompletionRequest } from './schema.ts';
import type { CompletionRun } from './start-completion.ts';

/** Gathers a started completion into the answer in one piece: what its stream adds up to. */
export async function answerCompletion(run: CompletionRun, request: CompletionRequest): Promise<Completion> {
  const collected = await collectPrompts(run);
  return {
    id: run.id,
    object: 'text_completion',
    created: run.created,
    model: run.model,
    system_fingerprint: run.fingerprint,
    choices: collected.flatMap(({ choices }, prompt) =>
      likeliest(choices, run.answers).map((choice, answer) => ({
        text: (request.echo ? (run.prompts[prompt] ?? '') : '') + choice.text,
        index: prompt * run.answers + answer,
        logprobs: typeof request.logprobs === 'number' ? legacyLogprobs(choice.logprobs ?? [], 0) : null,
        finish_reason: finishReason(choice.reason),
      })),
    ),
    usage: viewUsage(collected.map(({ usage }) => usage).reduce(addUsage)),
  };
}

/** Reads the prompts' mixed events once, and collects each prompt's as a chat collects its own. */
async function collectPrompts(run: CompletionRun): Promise<Collected[]> {
  const events: GenerationEvent[][] = run.prompts.map(() => []);
  for await (const { prompt, event } of run.events) events[prompt]?.push(event);
  return Promise.all(events.map((list) => collect(asStream(list), run.candidates)));
}

async function* asStream<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

/** The `count` likeliest, the likeliest first; all of them in their own order when there is nothing to choose. */
function likeliest(choices: CollectedChoice[], count: number): CollectedChoice[] {
  if (choices.length <= count) return choices;
  return choices.toSorted((a, b) => meanLogprob(b.logprobs) - meanLogprob(a.logprobs)).slice(0, count);
}

/** The usage of two generations together. */
export function addUsage(a: GenerationUsage, b: GenerationUsage): GenerationUsage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    completionTokens: a.completionTokens + b.completionTokens,
  };
}

/** Text completions know no tools: an upstream that says so has stopped. */
export function finishReason(reason: CollectedChoice['reason']): 'stop' | 'length' | 'content_filter' {
  return reason === 'tool_calls' ? 'stop' : reason;
}
