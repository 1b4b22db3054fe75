import type { Deps } from '../deps.ts';
import type { GenerationEvent, GenerationRequest, PromptToken } from '../engines/engine.ts';
import { backendOf } from '../engines/registry.ts';
import { invalidValue } from '../errors.ts';
import { type AdmittedModel, admit } from '../inference/admit.ts';
import { type Generation, startGeneration } from '../inference/generate.ts';
import { samplingOf, stopTextsOf } from '../inference/parameters.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { merge } from '../lib/merge.ts';
import type { CompletionRequest } from './schema.ts';

/** What a text completion needs of the dependencies. */
export type CompletionDeps = Pick<Deps, 'models' | 'recordUsage' | 'countPrompt' | 'metrics' | 'now'>;

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
  const admitted = admit(deps, call.caller, request.model, 'completion');
  refuseContradictions(request, admitted);
  const prompts = [request.prompt].flat();
  const start = (text: string) =>
    startGeneration(deps, call, admitted, { request: generationRequest(call, request, text), signal });
  const first = await start(prompts[0] ?? '');
  const backend = backendOf(admitted.model);
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
      prompts.map((text, prompt) => () => eventsOf(prompt, prompt === 0 ? first : start(text))),
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

function generationRequest(call: Call, request: CompletionRequest, text: string): GenerationRequest {
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
    scope: call.caller.organizationId,
    priority: 'interactive',
  };
}

const showsPromptLogprobs = (request: CompletionRequest): boolean =>
  request.echo === true && typeof request.logprobs === 'number';

function refuseContradictions(request: CompletionRequest, { engine }: AdmittedModel): void {
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
