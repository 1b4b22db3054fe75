import { type Static, Type } from 'typebox';
import { missingField } from '../errors.ts';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { ResponseInputItem } from './input-items-schema.ts';
import { CreateResponse, ResponseUsage } from './schema.ts';

const { model, input, instructions, previous_response_id, conversation, prompt_cache_key, service_tier } =
  CreateResponse.properties;
const { prompt, tools, tool_choice, parallel_tool_calls, text, reasoning, truncation } = CreateResponse.properties;

const common = { model, input: Type.Optional(input), instructions, previous_response_id };

/** Body of `POST /v1/responses/input_tokens`: the fields of a request that are part of its prompt. */
export const CountInputTokens = Type.Object(
  { ...common, conversation, prompt, tools, tool_choice, parallel_tool_calls, text, reasoning, truncation },
  { [NULL_IS_ABSENT]: true, examples: [{ model: 'general-8b', input: 'When is the library open?' }] },
);

export type CountInputTokens = Static<typeof CountInputTokens>;

/** The fields as a request. Throws 400 `missing_required_field` for a conversation without any item. */
export function requireInput<T extends Pick<CountInputTokens, 'input' | 'previous_response_id' | 'conversation'>>(
  body: T,
): T & Pick<CreateResponse, 'input'> {
  if (body.input === undefined && body.previous_response_id === undefined && body.conversation === undefined)
    throw missingField('input');
  return { ...body, input: body.input ?? [] };
}

/** Response of `POST /v1/responses/input_tokens`. */
export const InputTokens = Type.Object({
  object: Type.Literal('response.input_tokens'),
  input_tokens: Type.Integer(),
});

export type InputTokens = Static<typeof InputTokens>;

/** Body of `POST /v1/responses/compact`. */
export const CompactResponse = Type.Object(
  { ...common, prompt_cache_key, service_tier },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ model: 'general-8b', previous_response_id: 'resp_01kaj3v0b8s4x2m6n9p1q5r7t3' }],
  },
);

export type CompactResponse = Static<typeof CompactResponse>;

/** Response of `POST /v1/responses/compact`. */
export const CompactedResponse = Type.Object({
  id: Type.String({ description: 'Not stored: it cannot be retrieved or continued.' }),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  output: Type.Array(ResponseInputItem, {
    description: 'The conversation for `input` of the next request: messages that are kept, and a `compaction`.',
  }),
  usage: ResponseUsage,
  moderation: Type.Optional(ModerationField),
});

export type CompactedResponse = Static<typeof CompactedResponse>;

titleSchemas({ CountInputTokens, InputTokens, CompactResponse, CompactedResponse });
