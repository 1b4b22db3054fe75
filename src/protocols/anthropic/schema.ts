/** Bodies of `/v1/messages`. Content blocks are checked by `parse-call.ts`, which names the block of an error. */
import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../../http/null-fields.ts';
import { Nullable } from '../../http/schema-types.ts';
import { ModerationField } from '../../inference/moderation-notice.ts';

const CacheControl = Type.Optional(
  Type.Object({ type: Type.String() }, { description: 'Ignored: the prefix cache finds shared prefixes by itself.' }),
);

const TextBlock = Type.Object({ type: Type.Literal('text'), text: Type.String(), cache_control: CacheControl });

const Source = Type.Object({
  type: Type.String({ description: '`base64`, `url` or `text`.' }),
  media_type: Type.Optional(Type.String()),
  data: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
});

const Block = Type.Object({
  type: Type.String({
    description:
      '`text`; `image` and `document` (plain text) of users; `tool_use` and `thinking` of the assistant; `tool_result` of users. Thinking is not sent to the model again.',
  }),
  text: Type.Optional(Type.String()),
  source: Type.Optional(Source),
  title: Type.Optional(Type.String()),
  id: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  input: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  tool_use_id: Type.Optional(Type.String()),
  content: Type.Optional(
    Type.Union([
      Type.String(),
      Type.Array(
        Type.Object({ type: Type.String(), text: Type.Optional(Type.String()), source: Type.Optional(Source) }),
      ),
    ]),
  ),
  is_error: Type.Optional(Type.Boolean()),
  cache_control: CacheControl,
});

const Message = Type.Object({
  role: Type.Enum(['user', 'assistant']),
  content: Type.Union([Type.String(), Type.Array(Block)]),
});

const Tool = Type.Object({
  type: Type.Optional(Type.String({ description: '`custom`. Tools that Anthropic runs are not supported.' })),
  name: Type.String({ minLength: 1, maxLength: 128 }),
  description: Type.Optional(Type.String()),
  input_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  strict: Type.Optional(Type.Boolean()),
  cache_control: CacheControl,
});

const PROMPT_FIELDS = {
  model: Type.String({ minLength: 1 }),
  messages: Type.Array(Message, { minItems: 1 }),
  system: Type.Optional(Type.Union([Type.String(), Type.Array(TextBlock)])),
  tools: Type.Optional(Type.Array(Tool, { maxItems: 128 })),
  tool_choice: Type.Optional(
    Type.Object({
      type: Type.Enum(['auto', 'any', 'tool', 'none']),
      name: Type.Optional(Type.String({ description: 'With `tool`: the tool to call.' })),
      disable_parallel_tool_use: Type.Optional(Type.Boolean()),
    }),
  ),
  thinking: Type.Optional(
    Type.Object(
      {
        type: Type.Enum(['enabled', 'adaptive', 'disabled']),
        budget_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
      },
      { description: 'For models that reason: the answer has `thinking` blocks. The budget chooses the effort.' },
    ),
  ),
  output_config: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'])),
      format: Type.Optional(
        Type.Object({ type: Type.Literal('json_schema'), schema: Type.Record(Type.String(), Type.Unknown()) }),
      ),
    }),
  ),
} as const;

/** Request body of `POST /v1/messages/count_tokens`. */
export const CountTokensRequest = Type.Object(PROMPT_FIELDS, { [NULL_IS_ABSENT]: true, title: 'CountTokensRequest' });

export type CountTokensRequest = Static<typeof CountTokensRequest>;

/** Request body of `POST /v1/messages`. */
export const MessagesRequest = Type.Object(
  {
    ...PROMPT_FIELDS,
    max_tokens: Type.Integer({ minimum: 1 }),
    stream: Type.Optional(Type.Boolean({ default: false })),
    stop_sequences: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: 4 })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Sent to upstream servers if `QUIRE_UPSTREAM_PARAMETERS` names it.' }),
    ),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Ignored.' })),
    service_tier: Type.Optional(Type.String({ description: 'Ignored: there is one tier.' })),
  },
  {
    [NULL_IS_ABSENT]: true,
    title: 'MessagesRequest',
    examples: [{ model: 'general-8b', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] }],
  },
);

export type MessagesRequest = Static<typeof MessagesRequest>;

const ContentBlock = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String(), citations: Type.Null() }),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }),
  Type.Object({
    type: Type.Literal('tool_use'),
    id: Type.String(),
    name: Type.String(),
    input: Type.Record(Type.String(), Type.Unknown()),
  }),
]);

export type ContentBlock = Static<typeof ContentBlock>;

const MessageUsage = Type.Object({
  input_tokens: Type.Integer({ description: 'Tokens of the prompt that are not from the prefix cache.' }),
  cache_creation_input_tokens: Type.Integer({ description: '0: filling the prefix cache costs nothing.' }),
  cache_read_input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
});

export type MessageUsage = Static<typeof MessageUsage>;

const StopReason = Type.Enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']);

export type StopReason = Static<typeof StopReason>;

/** Response of `POST /v1/messages`. */
export const AnthropicMessage = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String(),
    content: Type.Array(ContentBlock),
    stop_reason: Nullable(StopReason),
    stop_sequence: Nullable(Type.String()),
    usage: MessageUsage,
    moderation: Type.Optional(ModerationField),
  },
  { title: 'AnthropicMessage' },
);

export type AnthropicMessage = Static<typeof AnthropicMessage>;

/** Response of `POST /v1/messages/count_tokens`. */
export const TokenCount = Type.Object({ input_tokens: Type.Integer() }, { title: 'TokenCount' });

/** One event of a stream; `type` is also the name of the server-sent event. */
export const MessageEvent = Type.Object(
  {
    type: Type.Enum([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop', 'ping', 'error'],
    ]),
    message: Type.Optional(AnthropicMessage),
    index: Type.Optional(Type.Integer({ description: 'Of the content block.' })),
    content_block: Type.Optional(ContentBlock),
    delta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    usage: Type.Optional(MessageUsage),
  },
  { title: 'MessageEvent' },
);
