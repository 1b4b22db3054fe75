import type { GenerationEvent, GenerationUsage, PromptToken } from '../engines/engine.ts';
import { type Collected, type CollectedChoice, collect } from '../inference/collect.ts';
import { viewUsage } from '../inference/usage-view.ts';
import { joinLogprobs, legacyLogprobs, meanLogprob, promptLogprobs } from './legacy-logprobs.ts';
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
    choices: collected.flatMap(({ answers, judged }, prompt) => {
      const echoed = request.echo ? (run.prompts[prompt] ?? '') : '';
      return likeliest(answers.choices, run.answers).map((choice, answer) => ({
        text: echoed + choice.text,
        index: prompt * run.answers + answer,
        logprobs: typeof request.logprobs === 'number' ? choiceLogprobs(choice, echoed, judged) : null,
        finish_reason: finishReason(choice.reason),
      }));
    }),
    usage: viewUsage(collected.map(({ answers }) => answers.usage).reduce(addUsage)),
  };
}

function choiceLogprobs(choice: CollectedChoice, echoed: string, judged: readonly PromptToken[]) {
  const own = legacyLogprobs(choice.logprobs ?? [], echoed.length);
  return echoed === '' ? own : joinLogprobs(promptLogprobs(judged, echoed), own);
}

/** What came of one prompt. */
interface CollectedPrompt {
  answers: Collected;
  judged: readonly PromptToken[];
}

/** Reads the prompts' mixed events once, and collects each prompt's as a chat collects its own. */
async function collectPrompts(run: CompletionRun): Promise<CollectedPrompt[]> {
  const prompts = run.prompts.map(() => ({ events: [] as GenerationEvent[], judged: [] as readonly PromptToken[] }));
  for await (const { prompt, event } of run.events) {
    const own = prompts[prompt];
    if (own === undefined) continue;
    if (event.type === 'prompt-judged') own.judged = event.tokens;
    else own.events.push(event);
  }
  return Promise.all(
    prompts.map(async ({ events, judged }) => ({ judged, answers: await collect(asStream(events), run.candidates) })),
  );
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
