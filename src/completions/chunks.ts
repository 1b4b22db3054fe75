import type { GenerationUsage } from '../engines/engine.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { viewUsage } from '../inference/view-generation.ts';
import { addUsage, finishReason } from './collect-completion.ts';
import { legacyLogprobs, promptLogprobs } from './legacy-logprobs.ts';
import type { CompletionCall } from './parse-call.ts';
import type { CompletionChunk } from './schema.ts';
import type { CompletionRun, PromptEvent } from './start-completion.ts';

type Choice = CompletionChunk['choices'][number];

/**
 * Converts events to stream chunks. A call that includes usage ends with a chunk that has the usage and no choices;
 * `usage` of the other chunks is then null.
 */
export async function* toCompletionChunks(run: CompletionRun): AsyncGenerator<CompletionChunk, void, undefined> {
  const { includesUsage } = run.completion;
  const head = {
    id: run.id,
    object: 'text_completion' as const,
    ...run.head,
    ...(includesUsage && { usage: null }),
  };
  let usage: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  const toChoices = createChoiceConverter(run.completion);
  await run.started;
  // On the first frame only.
  let moderation = viewNotices(run.notices());
  for await (const { prompt, event } of run.events) {
    if (event.type === 'usage') usage = addUsage(usage, event.usage);
    for (const choice of toChoices({ prompt, event })) {
      yield { ...head, choices: [choice], ...moderation };
      moderation = {};
    }
  }
  if (includesUsage) yield { ...head, choices: [], usage: viewUsage(usage) };
}

/** Creates a stateful converter, which tracks the text length of each choice and echoes its prompt once. */
function createChoiceConverter({
  inputs,
  echoesPrompt,
  choicesPerPrompt,
}: CompletionCall): (from: PromptEvent) => Choice[] {
  const lengths = new Map<number, number>();
  const logprobsByPrompt = new Map<number, ReturnType<typeof promptLogprobs>>();
  return ({ prompt, event }) => {
    const echo = echoesPrompt ? (inputs[prompt]?.prompt.text ?? '') : '';
    if (event.type === 'prompt-logprobs') {
      logprobsByPrompt.set(prompt, promptLogprobs(event.tokens, echo));
      return [];
    }
    if (event.type === 'prompt-end' || event.type === 'usage' || event.type === 'tool-call-delta') return [];
    const index = prompt * choicesPerPrompt + event.choice;
    const echoChoices: Choice[] = [];
    if (!lengths.has(index)) {
      lengths.set(index, echo.length);
      if (echoesPrompt)
        echoChoices.push({ text: echo, index, logprobs: logprobsByPrompt.get(prompt) ?? null, finish_reason: null });
    }
    if (event.type === 'choice-end') {
      return [...echoChoices, { text: '', index, logprobs: null, finish_reason: finishReason(event.reason) }];
    }
    const offset = lengths.get(index) ?? 0;
    lengths.set(index, offset + event.text.length);
    const tokens = event.type === 'text-delta' ? event.logprobs : undefined;
    const logprobs = tokens === undefined ? null : legacyLogprobs(tokens, offset);
    return [...echoChoices, { text: event.text, index, logprobs, finish_reason: null }];
  };
}
