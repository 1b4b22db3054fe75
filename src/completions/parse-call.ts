import type { Deps } from '../deps.ts';
import type { TextPrompt } from '../engines/engine.ts';
import { invalidValue } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import type { GenerationInput } from '../inference/generate.ts';
import { samplingParameters, stopSequences, upstreamParameters } from '../inference/parameters.ts';
import type { Call } from '../lib/caller.ts';
import type { CompletionRequest } from './schema.ts';

const DEFAULT_MAX_TOKENS = 16;

/** Input of the generation of one prompt. */
export type CompletionInput = Readonly<GenerationInput & { prompt: TextPrompt }>;

/** A text completion request, parsed and admitted. No later step reads the body of the request. */
export interface CompletionCall {
  readonly admission: Admission<'completion'>;
  /** Input of the generation of each prompt. `choices`: completions generated per prompt (`best_of`). */
  readonly inputs: readonly [CompletionInput, ...CompletionInput[]];
  /** Completions returned per prompt (`n`). */
  readonly choicesPerPrompt: number;
  readonly echoesPrompt: boolean;
  readonly showsLogprobs: boolean;
  /** Whether a stream ends with a chunk that has the usage. */
  readonly includesUsage: boolean;
}

/** Parses and admits a request. Throws as `admit` does, and 400 for contradictory or unsupported parameters. */
export function parseCompletionCall(
  deps: Pick<Deps, 'config' | 'models'>,
  call: Call,
  request: CompletionRequest,
): CompletionCall {
  const admission = admit(deps, call, { kind: 'completion', model: request.model });
  const { n = 1, best_of: bestOf = 0, echo = false, logprobs = null, stream = false } = request;
  // Some clients send a `best_of` of 0 for "not used".
  const candidates = bestOf === 0 ? n : bestOf;
  rejectContradictions(request, candidates, admission);
  const parameters = {
    choices: candidates,
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    stop: stopSequences(request),
    sampling: samplingParameters(request),
    format: { type: 'text' },
    // `best_of` ranks by log probabilities.
    logprobs: logprobs ?? (candidates > n ? 0 : null),
    promptLogprobs: echo && logprobs !== null,
    upstreamParameters: upstreamParameters(deps, request),
    incremental: stream,
  } as const;
  const toInput = (text: string): CompletionInput => ({
    ...parameters,
    prompt: { kind: 'text', text, suffix: request.suffix ?? null },
  });
  const [first = '', ...others] = [request.prompt].flat();
  return {
    admission,
    inputs: [toInput(first), ...others.map(toInput)],
    choicesPerPrompt: n,
    echoesPrompt: echo,
    showsLogprobs: logprobs !== null,
    includesUsage: request.stream_options?.include_usage === true,
  };
}

function rejectContradictions(
  { n = 1, echo, logprobs, stream, suffix }: CompletionRequest,
  candidates: number,
  { model, engine }: Admission<'completion'>,
): void {
  if (candidates < n) throw invalidValue('best_of', `must not be less than 'n', which is ${n}`);
  if (candidates > n && stream) throw invalidValue('best_of', "cannot be more than 'n' in a stream");
  if (echo && logprobs !== undefined && !engine.features().promptLogprobs) {
    throw invalidValue(
      'logprobs',
      `cannot be combined with 'echo': '${model.id}' does not return log probabilities of prompts`,
    );
  }
  if (suffix && !engine.features().suffix)
    throw invalidValue('suffix', `needs a model with fill-in-the-middle tokens, which '${model.id}' does not have`);
}
