import type { GenerationUsage } from '../engines/engine.ts';
import { viewUsage } from '../inference/usage-view.ts';
import { addUsage, finishReason } from './answer-completion.ts';
import { legacyLogprobs, promptLogprobs } from './legacy-logprobs.ts';
import type { CompletionChunk, CompletionRequest } from './schema.ts';
import type { CompletionRun, PromptEvent } from './start-completion.ts';

type Choice = CompletionChunk['choices'][number];

/** The events as the frames of a stream; with `stream_options.include_usage` one more with the usage and no choices. */
export async function* toCompletionChunks(
  run: CompletionRun,
  request: CompletionRequest,
): AsyncGenerator<CompletionChunk, void, undefined> {
  const head = {
    id: run.id,
    object: 'text_completion' as const,
    created: run.created,
    model: run.model,
    system_fingerprint: run.fingerprint,
  };
  let usage: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  const toChoice = choiceMaker(run, request);
  for await (const { prompt, event } of run.events) {
    if (event.type === 'usage') usage = addUsage(usage, event.usage);
    for (const choice of toChoice({ prompt, event })) yield { ...head, choices: [choice] };
  }
  if (request.stream_options?.include_usage) yield { ...head, choices: [], usage: viewUsage(usage) };
}

/** Keeps, for each choice, whether its prompt was echoed and how many characters it has so far. */
function choiceMaker(run: CompletionRun, request: CompletionRequest): (from: PromptEvent) => Choice[] {
  const lengths = new Map<number, number>();
  const judged = new Map<number, ReturnType<typeof promptLogprobs>>();
  return ({ prompt, event }) => {
    const echoed = request.echo ? (run.prompts[prompt] ?? '') : '';
    if (event.type === 'prompt-judged') {
      judged.set(prompt, promptLogprobs(event.tokens, echoed));
      return [];
    }
    if (event.type === 'prompt-end' || event.type === 'usage' || event.type === 'tool-call-delta') return [];
    const index = prompt * run.answers + event.choice;
    const made: Choice[] = [];
    if (!lengths.has(index)) {
      lengths.set(index, echoed.length);
      if (request.echo) made.push({ text: echoed, index, logprobs: judged.get(prompt) ?? null, finish_reason: null });
    }
    if (event.type === 'choice-end') {
      return [...made, { text: '', index, logprobs: null, finish_reason: finishReason(event.reason) }];
    }
    const offset = lengths.get(index) ?? 0;
    lengths.set(index, offset + event.text.length);
    const tokens = event.type === 'text-delta' ? event.logprobs : undefined;
    const logprobs = tokens === undefined ? null : legacyLogprobs(tokens, offset);
    return [...made, { text: event.text, index, logprobs, finish_reason: null }];
  };
}
