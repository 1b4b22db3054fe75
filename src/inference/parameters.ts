import { type Static, Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { COMPLETION_DETAILS, PROMPT_DETAILS, type Sampling } from '../engines/engine.ts';
import { invalidValue } from '../errors.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Every token is compared with the stop sequences, so their length is bounded. */
const MAX_STOP_CHARACTERS = 4096;
const StopText = Type.String({ minLength: 1, maxLength: MAX_STOP_CHARACTERS });

/** Description of fields that tune a prefix cache. */
export const CACHE_NEEDS_NONE = 'Ignored: the prefix cache finds shared prefixes by itself and evicts by size.';

/** The sampling fields that chat and text completions share. Each default is the interface's. */
export const SamplingFields = {
  temperature: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 2,
      description:
        '0 is greedy: the same text every time. Default: 1, and 0 for the bundled model (`default_temperature` of the model object).',
    }),
  ),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 1, description: '0 is greedy.' })),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, default: 1, description: 'Answers to each prompt.' })),
  stream: Type.Optional(Type.Boolean({ default: false, description: 'Answer with server-sent events.' })),
  stream_options: Type.Optional(
    Type.Object({
      include_usage: Type.Optional(
        Type.Boolean({
          description: 'End the stream with a chunk that has `usage` and no choices. `usage` of the others is null.',
        }),
      ),
      include_obfuscation: Type.Optional(
        Type.Boolean({
          description:
            'Pad the chunks of a chat completion with random characters in `obfuscation`, so that their sizes tell less. Unlike at OpenAI, the default is false.',
        }),
      ),
    }),
  ),
  stop: Type.Optional(
    Type.Union([StopText, Type.Array(StopText, { maxItems: 4 })], {
      description: `Up to 4 texts of at most ${MAX_STOP_CHARACTERS} characters before which the answer ends.`,
    }),
  ),
  presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2, default: 0 })),
  frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2, default: 0 })),
  seed: Type.Optional(Type.Integer({ minimum: -(2 ** 63), maximum: 2 ** 63 })),
  logit_bias: Type.Optional(
    Type.Record(Type.String({ pattern: '^[0-9]{1,9}$' }), Type.Number({ minimum: -100, maximum: 100 }), {
      additionalProperties: false,
      description: "Token id of the model's own tokenizer to what is added to its logit.",
    }),
  ),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Repeated in a chat completion; ignored elsewhere.' }),
  ),
  service_tier: Type.Optional(Type.String({ description: 'There is one tier: answers name it `default`.' })),
  prompt_cache_key: Type.Optional(
    Type.String({ description: 'Ignored: the prefix cache finds shared prefixes by itself.' }),
  ),
  safety_identifier: Type.Optional(Type.String({ description: 'Ignored.' })),
  user: Type.Optional(Type.String({ description: 'Id of the end user; ignored.' })),
} as const;

const Fields = Type.Object(SamplingFields);

type SamplingRequest = Pick<
  Static<typeof Fields>,
  'temperature' | 'top_p' | 'presence_penalty' | 'frequency_penalty' | 'seed' | 'logit_bias'
>;

/** Sampling parameters of a request, with defaults. */
export function samplingParameters(request: SamplingRequest): Sampling {
  const topP = request.top_p ?? 1;
  return {
    // Engines require a positive `topP`; 0 leaves only the most probable token, as a temperature of 0 does.
    temperature: topP === 0 ? 0 : (request.temperature ?? null),
    topP: topP === 0 ? 1 : topP,
    presencePenalty: request.presence_penalty ?? 0,
    frequencyPenalty: request.frequency_penalty ?? 0,
    seed: request.seed ?? null,
    logitBias: request.logit_bias ?? {},
  };
}

/** Stop sequences of a request, without duplicates. */
export function stopSequences(request: Static<typeof Fields>): string[] {
  return [...new Set([request.stop ?? []].flat())];
}

/** Fields of a chat request that upstream servers get as they are. */
const CHAT_PARAMETERS = ['reasoning_effort', 'verbosity', 'chat_template_kwargs'];

/**
 * Parameters for upstream servers: the fields of the body that the operator lists, and `parameters`. Null means absent.
 */
export function upstreamParameters(
  { config }: Pick<Deps, 'config'>,
  request: object,
  parameters: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const listed = (config.upstreamParameters ?? []).map((name) => [name, (request as Record<string, unknown>)[name]]);
  const entries = [...listed, ...Object.entries(parameters)];
  return Object.fromEntries(entries.filter(([, value]) => value != null));
}

/** The same for a chat completion. */
export function chatParameters(deps: Pick<Deps, 'config'>, request: object): Record<string, unknown> {
  const own = CHAT_PARAMETERS.map((name) => [name, (request as Record<string, unknown>)[name]]);
  return upstreamParameters(deps, request, Object.fromEntries(own));
}

/** Throws 400 for the first field that is not supported. `fields`: the field to use instead of each, or null. */
export function rejectFields(request: object, fields: Readonly<Record<string, string | null>>): void {
  for (const [field, instead] of Object.entries(fields)) {
    if ((request as Record<string, unknown>)[field] == null) continue;
    throw invalidValue(field, instead === null ? 'is not supported' : `is not supported; use '${instead}'`);
  }
}

/** Settings of the chat template, which only upstream servers read. */
export const ChatTemplateKwargs = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Variables of the chat template, such as `enable_thinking`; for upstream servers, ignored by other engines.',
});

/** How much a model thinks before it answers. */
export const ReasoningEffort = Type.Enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'], {
  type: 'string',
  description: 'For upstream servers; ignored by other engines.',
});

/** How long answers are. */
export const Verbosity = Type.Enum(['low', 'medium', 'high'], {
  type: 'string',
  description: 'For upstream servers; ignored by other engines.',
});

/** Counts that only some upstreams report. */
const reportedCounts = <const Names extends readonly string[]>(names: Names) =>
  Object.fromEntries(
    names.map((name) => [name, Type.Optional(Type.Integer({ description: 'If the upstream server reports it.' }))]),
  ) as Record<Names[number], ReturnType<typeof Type.Optional<ReturnType<typeof Type.Integer>>>>;

/** Token usage in every completion. */
export const Usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({
    cached_tokens: Type.Integer({ description: 'Tokens served from the prefix cache.' }),
    ...reportedCounts(PROMPT_DETAILS),
  }),
  completion_tokens_details: Type.Object({
    reasoning_tokens: Type.Integer({ description: 'Tokens of `reasoning_content`.' }),
    ...reportedCounts(COMPLETION_DETAILS),
  }),
});

export type Usage = Static<typeof Usage>;

/** Usage in a chunk of a stream with `stream_options.include_usage`. */
export const ChunkUsage = Type.Union([Usage, Type.Null()], { description: 'Null except in the last chunk.' });

titleSchemas({ Usage });
