import { type Static, Type } from 'typebox';
import { nullable, SamplingFields, Usage } from '../inference/parameters.ts';

/** Prompts of one request. Each is a generation of its own; more belong into a batch. */
const MAX_PROMPTS = 128;

/** The body of `POST /v1/completions`. */
export const CompletionRequest = Type.Object(
  {
    model: Type.String({ minLength: 1 }),
    prompt: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: MAX_PROMPTS })], {
      description: 'A text to continue, or several. No chat template is applied.',
    }),
    ...SamplingFields,
    max_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1, default: 16 }))),
    logprobs: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: 5, description: 'Alternatives that each token is shown with.' })),
    ),
    suffix: Type.Optional(
      nullable(Type.String({ description: 'Text after the wanted one, for models that can fill in.' })),
    ),
    echo: Type.Optional(
      nullable(Type.Boolean({ default: false, description: 'Put the prompt before its completion.' })),
    ),
    best_of: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: 16,
          description: 'Make this many, answer the `n` likeliest by mean log probability.',
        }),
      ),
    ),
  },
  { examples: [{ model: 'general-8b', prompt: 'The capital of France is', max_tokens: 16, temperature: 0 }] },
);

export type CompletionRequest = Static<typeof CompletionRequest>;

const Logprobs = Type.Object({
  tokens: Type.Array(Type.String()),
  token_logprobs: Type.Array(
    Type.Union([Type.Number(), Type.Null()], { description: 'Null: the first token of an echoed prompt.' }),
  ),
  top_logprobs: Type.Array(Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()])),
  text_offset: Type.Array(Type.Integer({ description: 'Characters before the token in `text`.' })),
});

const Head = {
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Integer(),
  model: Type.String(),
  system_fingerprint: Type.String({ description: 'What really answered.' }),
};

/** The answer of `POST /v1/completions`. */
export const Completion = Type.Object({
  ...Head,
  choices: Type.Array(
    Type.Object({
      text: Type.String(),
      index: Type.Integer({ description: "The prompt's place times `n`, plus the answer's." }),
      logprobs: Type.Union([Logprobs, Type.Null()]),
      finish_reason: Type.Enum(['stop', 'length', 'content_filter']),
    }),
  ),
  usage: Usage,
});

export type Completion = Static<typeof Completion>;

/** One frame of a streamed answer. */
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
  usage: Type.Optional(Usage),
});

export type CompletionChunk = Static<typeof CompletionChunk>;
