import type { Deps } from '../deps.ts';
import type { GenerationEvent, PromptToken } from '../engines/engine.ts';
import { generationBounds } from '../inference/cost-bounds.ts';
import { type Generation, type GenerationInput, startGeneration } from '../inference/generate.ts';
import type { Notices } from '../inference/moderation-notice.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import { type CompletionHead, newHead } from '../inference/view-generation.ts';
import { newId } from '../lib/ids.ts';
import { merge } from '../lib/merge.ts';
import { settleAll } from '../lib/settle-all.ts';
import type { CompletionCall } from './parse-call.ts';

/** Dependencies of a text completion. */
export type CompletionDeps = Pick<
  Deps,
  'config' | 'models' | 'reserve' | 'recordUsage' | 'recordsContents' | 'screen' | 'countPrompt' | 'metrics' | 'now'
>;

/** Maximum concurrent prompts of one request, so that one request cannot fill the queue of an engine. */
const MAX_CONCURRENT_PROMPTS = 8;

/** An event of one of the request's prompts. */
export interface PromptEvent {
  /** Index of the prompt in the request. */
  prompt: number;
  event: GenerationEvent | PromptLogprobsEvent;
}

/** Log probabilities of the prompt tokens. Precedes the other events of its prompt, if requested. */
export interface PromptLogprobsEvent {
  type: 'prompt-logprobs';
  tokens: readonly PromptToken[];
}

/** A text completion that has been accepted. */
export interface CompletionRun {
  completion: CompletionCall;
  /** `cmpl-...` */
  id: string;
  head: CompletionHead;
  /** Resolves after processing of the first prompt. The caller must handle its rejection before it reads `events`. */
  started: Promise<Generation>;
  events: AsyncGenerator<PromptEvent, void, undefined>;
  /** Results of screening the prompts and, after the end of `events`, non-streamed completions. */
  notices(): Notices;
}

/** Screens the prompts, and starts the generation of the first one. The others start when `events` is read. */
export async function startCompletion(
  deps: CompletionDeps,
  completion: CompletionCall,
  signal: AbortSignal,
): Promise<CompletionRun> {
  const { admission, inputs } = completion;
  const [firstInput] = inputs;
  await admission.requireCredits(deps, () => generationBounds(admission.model, firstInput));
  // Screens all prompts before the first generation: a blocked prompt must not end a started stream.
  const screened = await settleAll(
    inputs.map((input) => screenInput(deps, admission, input, [input.prompt.text, input.prompt.suffix ?? ''])),
  );
  const generations: Generation[] = [];
  const start = async (input: Screened<GenerationInput>) => {
    const generation = await startGeneration(deps, admission, input, signal);
    generations.push(generation);
    return generation;
  };
  const started = start(screened[0] as Screened<GenerationInput>);
  return {
    completion,
    id: newId('textCompletion'),
    head: newHead(deps, admission),
    started,
    events: merge(
      screened.map((input, prompt) => () => promptEvents(prompt, prompt === 0 ? started : start(input))),
      MAX_CONCURRENT_PROMPTS,
    ),
    notices: () => [...screened.map(({ notice }) => notice), ...generations.flatMap(({ notices }) => notices())],
  };
}

async function* promptEvents(
  prompt: number,
  generation: Promise<Generation>,
): AsyncGenerator<PromptEvent, void, undefined> {
  const { promptLogprobs, events } = await generation;
  if (promptLogprobs !== null) yield { prompt, event: { type: 'prompt-logprobs', tokens: promptLogprobs } };
  for await (const event of events) yield { prompt, event };
}
