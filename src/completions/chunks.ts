import type { GenerationUsage } from '../engines/engine.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { viewUsage } from '../inference/usage-view.ts';
import { addUsage, finishReason } from './collect-completion.ts';
import { legacyLogprobs, promptLogprobs } from './legacy-logprobs.ts';
import type { CompletionChunk, CompletionRequest } from './schema.ts';
import type { CompletionRun, PromptEvent } from './start-completion.ts';

type Choice = CompletionChunk['choices'][number];

/** Converts events to stream chunks. `stream_options.include_usage` adds a last chunk with the usage and no choices; `usage` of the others is null. */
export async function* toCompletionChunks(
  run: CompletionRun,
  request: CompletionRequest,
): AsyncGenerator<CompletionChunk, void, undefined> {
  const includesUsage = request.stream_options?.include_usage === true;
  const head = {
    id: run.id,
    object: 'text_completion' as const,
    created: run.created,
    model: run.model,
    system_fingerprint: run.fingerprint,
    ...(includesUsage && { usage: null }),
  };
  let usage: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  const toChoices = createChoiceConverter(run, request);
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
function createChoiceConverter(run: CompletionRun, request: CompletionRequest): (from: PromptEvent) => Choice[] {
  const lengths = new Map<number, number>();
  const logprobsByPrompt = new Map<number, ReturnType<typeof promptLogprobs>>();
  return ({ prompt, event }) => {
    const echo = request.echo ? (run.prompts[prompt] ?? '') : '';
    if (event.type === 'prompt-logprobs') {
      logprobsByPrompt.set(prompt, promptLogprobs(event.tokens, echo));
      return [];
    }
    if (event.type === 'prompt-end' || event.type === 'usage' || event.type === 'tool-call-delta') return [];
    const index = prompt * run.choicesPerPrompt + event.choice;
    const echoChoices: Choice[] = [];
    if (!lengths.has(index)) {
      lengths.set(index, echo.length);
      if (request.echo)
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
