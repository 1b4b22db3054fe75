import type { Deps } from '../deps.ts';
import type { GenerationEvent, PromptToken } from '../engines/engine.ts';
import { modelBackend } from '../engines/registry.ts';
import { invalidValue, missingField } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import { type Generation, type GenerationInput, startGeneration } from '../inference/generate.ts';
import { samplingOf, stopTextsOf } from '../inference/parameters.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { merge } from '../lib/merge.ts';
import { settleAll } from '../lib/settle-all.ts';
import type { CompletionRequest } from './schema.ts';

/** What a text completion needs of the dependencies. */
export type CompletionDeps = Pick<Deps, 'models' | 'recordUsage' | 'screen' | 'countPrompt' | 'metrics' | 'now'>;

/** Prompts of one request that run at once: one caller's list must not fill an engine's queue. */
const PROMPTS_AT_ONCE = 8;
const DEFAULT_MAX_TOKENS = 16;

/** An event of one of the request's prompts. */
export interface PromptEvent {
  /** The prompt's place in the request. */
  prompt: number;
  event: GenerationEvent | PromptJudged;
}

/** Comes before the events of its prompt, when the prompt is to be shown with its log probabilities. */
export interface PromptJudged {
  type: 'prompt-judged';
  tokens: readonly PromptToken[];
}

/** A text completion whose first prompt has been processed. */
export interface CompletionRun {
  /** `cmpl-...` */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The id that the caller named. */
  model: string;
  fingerprint: string;
  prompts: readonly string[];
  /** Answers to each prompt that the caller gets, and how many are made to choose them from. */
  answers: number;
  candidates: number;
  /** Of the first prompt; null where the engine says it only at the end. */
  cachedTokens: number | null;
  events: AsyncGenerator<PromptEvent, void, undefined>;
}

/** Admits and starts a text completion: one generation for each prompt. Resolves when the first prompt is processed. */
export async function startCompletion(
  deps: CompletionDeps,
  call: Call,
  request: CompletionRequest,
  signal: AbortSignal,
): Promise<CompletionRun> {
  const admission = admit(deps, call, { kind: 'completion', model: request.model });
  rejectContradictions(request, admission);
  const prompts = [request.prompt].flat();
  // All prompts before the first generation: a blocked one must not end a stream that has begun.
  const inputs = await settleAll(
    prompts.map((text) => screenInput(deps, call, generationInput(request, text), [text, request.suffix ?? ''])),
  );
  const start = (input: Screened<GenerationInput>) => startGeneration(deps, admission, input, signal);
  const [firstInput] = inputs;
  if (firstInput === undefined) throw missingField('prompt');
  const first = await start(firstInput);
  const backend = modelBackend(admission.model);
  return {
    id: newId('textCompletion'),
    created: Math.floor(deps.now() / 1000),
    model: request.model,
    fingerprint: `${backend.engine}:${backend.model}`,
    prompts,
    answers: request.n ?? 1,
    candidates: request.best_of ?? request.n ?? 1,
    cachedTokens: first.cachedTokens,
    events: merge(
      inputs.map((input, prompt) => () => eventsOf(prompt, prompt === 0 ? first : start(input))),
      PROMPTS_AT_ONCE,
    ),
  };
}

async function* eventsOf(
  prompt: number,
  generation: Generation | Promise<Generation>,
): AsyncGenerator<PromptEvent, void, undefined> {
  const { promptLogprobs, events } = await generation;
  if (promptLogprobs !== null) yield { prompt, event: { type: 'prompt-judged', tokens: promptLogprobs } };
  for await (const event of events) yield { prompt, event };
}

function generationInput(request: CompletionRequest, text: string): GenerationInput {
  const candidates = request.best_of ?? request.n ?? 1;
  const isChosen = candidates > (request.n ?? 1);
  return {
    prompt: { kind: 'text', text, suffix: request.suffix ?? null },
    choices: candidates,
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    stop: stopTextsOf(request),
    sampling: samplingOf(request),
    format: { type: 'text' },
    // The likeliest can be chosen only by log probabilities.
    logprobs: request.logprobs ?? (isChosen ? 0 : null),
    promptLogprobs: showsPromptLogprobs(request),
    incremental: request.stream ?? false,
  };
}

const showsPromptLogprobs = (request: CompletionRequest): boolean =>
  request.echo === true && typeof request.logprobs === 'number';

function rejectContradictions(request: CompletionRequest, { engine }: Admission<'completion'>): void {
  const answers = request.n ?? 1;
  const candidates = request.best_of ?? answers;
  if (candidates < answers) throw invalidValue('best_of', `must not be less than 'n', which is ${answers}`);
  if (candidates > answers && request.stream) throw invalidValue('best_of', "cannot be more than 'n' in a stream");
  if (showsPromptLogprobs(request) && !engine.features().promptLogprobs) {
    throw invalidValue('logprobs', `cannot be combined with 'echo': '${request.model}' does not tell those of prompts`);
  }
  if (request.suffix && !engine.features().suffix) {
    throw invalidValue(
      'suffix',
      `needs a model with fill-in-the-middle tokens, which '${request.model}' does not have`,
    );
  }
}
