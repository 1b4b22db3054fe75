import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import { ChunkUsage, SamplingFields, Usage } from '../inference/parameters.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number of prompts per request; each prompt is a separate generation. */
const MAX_PROMPTS = 128;

/** Request body of `POST /v1/completions`. */
export const CompletionRequest = Type.Object(
  {
    model: Type.String({ minLength: 1 }),
    prompt: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: MAX_PROMPTS })], {
      description: 'One or more texts to continue. No chat template is applied.',
    }),
    ...SamplingFields,
    max_tokens: Type.Optional(
      Type.Integer({
        minimum: 0,
        default: 16,
        description: '0: only the prompt is processed, for `echo` with `logprobs`.',
      }),
    ),
    logprobs: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 5, description: 'Number of alternatives reported per token.' }),
    ),
    suffix: Type.Optional(
      Type.String({ description: 'Text after the completion, for models with fill-in-the-middle tokens.' }),
    ),
    echo: Type.Optional(Type.Boolean({ default: false, description: 'Returns the prompt before its completion.' })),
    best_of: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 16,
        description: 'Generates this many completions per prompt and returns the `n` best by mean log probability.',
      }),
    ),
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ model: 'general-8b', prompt: 'The capital of France is', max_tokens: 16, temperature: 0 }],
  },
);

export type CompletionRequest = Static<typeof CompletionRequest>;

const Logprobs = Type.Object({
  tokens: Type.Array(Type.String()),
  token_logprobs: Type.Array(
    Type.Union([Type.Number(), Type.Null()], { description: 'Null for the first token of an echoed prompt.' }),
  ),
  top_logprobs: Type.Array(Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()])),
  text_offset: Type.Array(Type.Integer({ description: 'Offset of the token in `text`, in characters.' })),
});

const Head = {
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Integer(),
  model: Type.String(),
  system_fingerprint: Type.String({ description: 'Engine and model that generated the response.' }),
};

/** Response of `POST /v1/completions`. */
export const Completion = Type.Object({
  ...Head,
  choices: Type.Array(
    Type.Object({
      text: Type.String(),
      index: Type.Integer({ description: 'Index of the prompt times `n`, plus the index of the completion.' }),
      logprobs: Type.Union([Logprobs, Type.Null()]),
      finish_reason: Type.Enum(['stop', 'length', 'content_filter']),
    }),
  ),
  usage: Usage,
  moderation: Type.Optional(ModerationField),
});

export type Completion = Static<typeof Completion>;

/** One chunk of a streamed response. */
export const CompletionChunk = Type.Object({
  ...Head,
  choices: Type.Array(
    Type.Object({
      text: Type.String(),
      index: Type.Integer(),
      logprobs: Type.Union([Logprobs, Type.Null()]),
      finish_reason: Type.Union([Type.Enum(['stop', 'length', 'content_filter']), Type.Null()]),
    }),
  ),
  usage: Type.Optional(ChunkUsage),
  moderation: Type.Optional(ModerationField),
});

export type CompletionChunk = Static<typeof CompletionChunk>;

titleSchemas({ CompletionRequest, Completion, CompletionChunk });
