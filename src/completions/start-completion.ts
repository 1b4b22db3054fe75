import type { Deps } from '../deps.ts';
import type { GenerationEvent, PromptToken } from '../engines/engine.ts';
import { modelBackend } from '../engines/registry.ts';
import { invalidValue, missingField } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import { generationBounds } from '../inference/cost-bounds.ts';
import { type Generation, type GenerationInput, startGeneration } from '../inference/generate.ts';
import type { Notices } from '../inference/moderation-notice.ts';
import { samplingParameters, stopSequences, upstreamParameters } from '../inference/parameters.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { merge } from '../lib/merge.ts';
import { settleAll } from '../lib/settle-all.ts';
import type { CompletionRequest } from './schema.ts';

/** Dependencies of a text completion. */
export type CompletionDeps = Pick<
  Deps,
  'config' | 'models' | 'reserve' | 'recordUsage' | 'screen' | 'countPrompt' | 'metrics' | 'now'
>;

/** Maximum number of prompts of one request that run concurrently, so that one request cannot fill the queue of an engine. */
const MAX_CONCURRENT_PROMPTS = 8;
const DEFAULT_MAX_TOKENS = 16;

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
  /** `cmpl-...` */
  id: string;
  /** Unix seconds. */
  created: number;
  /** Model id of the request. */
  model: string;
  fingerprint: string;
  prompts: readonly string[];
  /** Completions returned per prompt (`n`), and completions generated per prompt (`best_of`). */
  choicesPerPrompt: number;
  candidates: number;
  /** Resolves when the first prompt has been processed. The caller must handle its rejection before it reads `events`. */
  started: Promise<Generation>;
  events: AsyncGenerator<PromptEvent, void, undefined>;
  /** Results of screening the prompts and, after the end of `events`, non-streamed completions. */
  notices(): Notices;
}

/** Admits and screens the prompts, and starts the generation of the first one. The others start when `events` is read. */
export async function startCompletion(
  deps: CompletionDeps,
  call: Call,
  request: CompletionRequest,
  signal: AbortSignal,
): Promise<CompletionRun> {
  const admission = admit(deps, call, { kind: 'completion', model: request.model });
  rejectContradictions(request, admission);
  const prompts = [request.prompt].flat();
  const [firstPrompt = ''] = prompts;
  await admission.requireCredits(deps, () =>
    generationBounds(admission.model, generationInput(deps, request, firstPrompt)),
  );
  // Screens all prompts before the first generation: a blocked prompt must not end a started stream.
  const inputs = await settleAll(
    prompts.map((text) =>
      screenInput(deps, admission, generationInput(deps, request, text), [text, request.suffix ?? '']),
    ),
  );
  const generations: Generation[] = [];
  const start = async (input: Screened<GenerationInput>) => {
    const generation = await startGeneration(deps, admission, input, signal);
    generations.push(generation);
    return generation;
  };
  const [firstInput] = inputs;
  if (firstInput === undefined) throw missingField('prompt');
  const started = start(firstInput);
  const backend = modelBackend(admission.model);
  return {
    id: newId('textCompletion'),
    created: Math.floor(deps.now() / 1000),
    model: request.model,
    fingerprint: `${backend.engine}:${backend.model}`,
    prompts,
    choicesPerPrompt: request.n ?? 1,
    candidates: candidatesPerPrompt(request),
    started,
    events: merge(
      inputs.map((input, prompt) => () => promptEvents(prompt, prompt === 0 ? started : start(input))),
      MAX_CONCURRENT_PROMPTS,
    ),
    notices: () => [...inputs.map(({ notice }) => notice), ...generations.flatMap(({ notices }) => notices())],
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

function generationInput(deps: Pick<Deps, 'config'>, request: CompletionRequest, text: string): GenerationInput {
  const candidates = candidatesPerPrompt(request);
  const needsRanking = candidates > (request.n ?? 1);
  return {
    prompt: { kind: 'text', text, suffix: request.suffix ?? null },
    choices: candidates,
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    stop: stopSequences(request),
    sampling: samplingParameters(request),
    format: { type: 'text' },
    // `best_of` ranks by log probabilities.
    logprobs: request.logprobs ?? (needsRanking ? 0 : null),
    promptLogprobs: showsPromptLogprobs(request),
    upstreamParameters: upstreamParameters(deps, request),
    incremental: request.stream ?? false,
  };
}

/** Some clients send a `best_of` of 0 for "not used". */
const candidatesPerPrompt = ({ best_of: bestOf = 0, n = 1 }: CompletionRequest): number => (bestOf === 0 ? n : bestOf);

const showsPromptLogprobs = (request: CompletionRequest): boolean =>
  request.echo === true && typeof request.logprobs === 'number';

function rejectContradictions(request: CompletionRequest, { engine }: Admission<'completion'>): void {
  const choices = request.n ?? 1;
  const candidates = candidatesPerPrompt(request);
  if (candidates < choices) throw invalidValue('best_of', `must not be less than 'n', which is ${choices}`);
  if (candidates > choices && request.stream) throw invalidValue('best_of', "cannot be more than 'n' in a stream");
  if (showsPromptLogprobs(request) && !engine.features().promptLogprobs) {
    throw invalidValue(
      'logprobs',
      `cannot be combined with 'echo': '${request.model}' does not return log probabilities of prompts`,
    );
  }
  if (request.suffix && !engine.features().suffix) {
    throw invalidValue(
      'suffix',
      `needs a model with fill-in-the-middle tokens, which '${request.model}' does not have`,
    );
  }
}
