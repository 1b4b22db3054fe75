import { type Static, Type } from 'typebox';
import { deletedSchema } from '../db/page.ts';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { Nullable } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import { CACHE_NEEDS_NONE, ChatTemplateKwargs, ReasoningEffort, Verbosity } from '../inference/parameters.ts';
import { MetadataObject } from '../knowledge-bases/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { PromptReference } from '../prompts/schema.ts';
import { IgnoredInclude } from './input-items-schema.ts';
import { InputItem, OutputItem } from './item-schema.ts';
import { AttributeFilter } from './parse-attribute-filter.ts';
import { McpToolFields, ResolvedMcpTool } from './parse-mcp-tool.ts';

/** Name of a function or schema. */
const Name = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  [MUST]: "be 1 to 64 letters, digits, '_', '-' and '.'",
});
const JsonSchema = Type.Record(Type.String(), Type.Unknown());

/** Form of the answer. */
const TextFormat = Type.Object({
  type: Type.Enum(['text', 'json_object', 'json_schema']),
  name: Type.Optional(Name),
  description: Type.Optional(Type.String()),
  schema: Type.Optional(JsonSchema),
  strict: Type.Optional(Type.Boolean()),
});

/** A function, in the fields that the flat and the nested form share. */
const FunctionFields = {
  name: Type.Optional(Name),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(Nullable(JsonSchema)),
  strict: Type.Optional(Type.Boolean()),
};

const Truncation = Type.Enum(['auto', 'disabled'], {
  type: 'string',
  default: 'disabled',
  description: '`auto`: the oldest messages are left out of a prompt that is longer than the context.',
});
const ReasoningSummary = Type.Enum(['auto', 'concise', 'detailed'], {
  type: 'string',
  description: 'Ignored: reasoning is shown whole.',
});

/** Fields of functions and of `mcp`, for tools that are found by a search or called by programs. */
const CallRuleFields = {
  defer_loading: Type.Optional(Type.Boolean({ description: 'Ignored: models know every tool from the start.' })),
  allowed_callers: Type.Optional(
    Type.Array(Type.Enum(['direct', 'programmatic']), {
      minItems: 1,
      description: 'Must contain `direct`: there are no programs that call tools.',
    }),
  ),
};
const UnusedSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Ignored: models read results as text.',
});
const OutputSchema = { output_schema: Type.Optional(UnusedSchema) };

const UnusedWeights = Type.Object(
  { embedding_weight: Type.Number(), text_weight: Type.Number() },
  { description: 'Ignored: both searches have the same weight.' },
);
const HybridWeights = { hybrid_search: Type.Optional(UnusedWeights) };

const MaxResults = Type.Integer({ minimum: 1, maximum: 50, default: 10 });
const ScoreThreshold = Type.Number({ minimum: 0, maximum: 1, default: 0 });

/** Settings of `file_search`. */
export const FileSearchSettings = Type.Object({
  knowledge_base_ids: Type.Array(Type.String(), { minItems: 1, maxItems: 64 }),
  max_results: Type.Optional(MaxResults),
  search_type: Type.Optional(
    Type.Enum(['hybrid', 'semantic', 'vector', 'keyword'], { type: 'string', default: 'hybrid' }),
  ),
  score_threshold: Type.Optional(ScoreThreshold),
  rerank: Type.Optional(Type.Boolean({ default: false })),
  rerank_model: Type.Optional(Type.String()),
});

const Tool = Type.Object(
  {
    type: Type.Enum(['function', 'file_search', 'query_table', 'mcp']),
    ...FunctionFields,
    function: Type.Optional(Type.Object(FunctionFields)),
    file_search: Type.Optional(FileSearchSettings),
    vector_store_ids: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 64,
        description: "`file_search` in OpenAI's form: ids of knowledge bases, with the prefix `kb_` or `vs_`.",
      }),
    ),
    max_num_results: Type.Optional(Nullable(MaxResults)),
    ranking_options: Type.Optional(
      Nullable(
        Type.Object({
          ranker: Type.Optional(Nullable(Type.String({ description: 'Ignored: results are ranked by their score.' }))),
          score_threshold: Type.Optional(Nullable(ScoreThreshold)),
          ...HybridWeights,
        }),
      ),
    ),
    filters: Type.Optional(Nullable(AttributeFilter)),
    ...McpToolFields,
    ...CallRuleFields,
    ...OutputSchema,
  },
  {
    description:
      '`file_search` with its settings under `file_search` or beside `type`, `query_table` beside it, `mcp` with a server, or a function with its fields under `function` or beside `type`.',
  },
);

/** A tool of a request. */
export type RequestTool = Static<typeof Tool>;

const NamedTool = Type.Object({
  type: Type.Enum(['function', 'file_search', 'mcp']),
  server_label: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  function: Type.Optional(Type.Object({ name: Type.String() })),
});

const ToolChoiceMode = Type.Enum(['auto', 'none', 'required']);

const ToolChoice = Type.Union([
  ToolChoiceMode,
  Type.Object(
    {
      type: Type.Enum(['function', 'file_search', 'mcp', 'allowed_tools']),
      server_label: Type.Optional(Type.String({ description: 'Server of `mcp`; without `name`, any of its tools.' })),
      name: Type.Optional(Type.String()),
      function: Type.Optional(Type.Object({ name: Type.String() })),
      mode: Type.Optional(ToolChoiceMode),
      tools: Type.Optional(Type.Array(NamedTool, { minItems: 1, maxItems: 128 })),
    },
    { description: 'A named function, `file_search`, a tool of an `mcp` server, or `allowed_tools` with a mode.' },
  ),
]);

/** Settings of the prefix cache, which needs none. */
const CacheOptions = {
  prompt_cache_retention: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
  prompt_cache_options: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
};

/** Body of `POST /v1/responses`. */
export const CreateResponse = Type.Object(
  {
    model: Type.String({ minLength: 1 }),
    input: Type.Union([Type.String({ minLength: 1 }), Type.Array(InputItem, { minItems: 1 })], {
      description: 'A text, chat messages, or items of earlier responses and results of functions.',
    }),
    instructions: Type.Optional(Type.String({ description: 'System message of this response only.' })),
    prompt: Type.Optional(PromptReference),
    previous_response_id: Type.Optional(Type.String({ description: 'Continues a stored response.' })),
    conversation: Type.Optional(
      Type.Union([Type.String(), Type.Object({ id: Type.String() })], {
        description: 'Continues a conversation, and adds the input and the output to it.',
      }),
    ),
    tools: Type.Optional(Nullable(Type.Array(Tool, { maxItems: 128 }))),
    tool_choice: Type.Optional(Nullable(ToolChoice)),
    parallel_tool_calls: Type.Optional(Type.Boolean({ default: true })),
    max_turns: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 50, default: 10, description: 'Calls of the model.' }),
    ),
    max_tool_calls: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Searches and calls of `mcp` tools in this response.' }),
    ),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Per call of the model.' })),
    temperature: Type.Optional(
      Type.Number({ minimum: 0, maximum: 2, description: 'Default: `default_temperature` of the model.' }),
    ),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 1, description: '0 is greedy.' })),
    presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2, default: 0 })),
    frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2, default: 0 })),
    text: Type.Optional(
      Nullable(
        Type.Object({
          format: Type.Optional(Nullable(TextFormat)),
          verbosity: Type.Optional(Nullable(Verbosity)),
        }),
      ),
    ),
    stream: Type.Optional(Type.Boolean({ default: false })),
    stream_options: Type.Optional(
      Nullable(
        Type.Object({ include_obfuscation: Type.Optional(Type.Boolean({ description: 'Nothing is padded.' })) }),
      ),
    ),
    store: Type.Optional(Type.Boolean({ default: true, description: 'Whether it can be retrieved for 24 hours.' })),
    background: Type.Optional(Type.Boolean({ default: false, description: 'Runs as a job; needs `store`.' })),
    metadata: Type.Optional(Nullable(MetadataObject)),
    user: Type.Optional(Type.String()),
    include: Type.Optional(
      Nullable(
        Type.Array(Type.String(), {
          description:
            '`message.output_text.logprobs` adds log probabilities to the answer. Results of searches and reasoning are always included.',
        }),
      ),
    ),
    truncation: Type.Optional(Truncation),
    service_tier: Type.Optional(Type.String({ description: 'Ignored: there is one tier.' })),
    reasoning: Type.Optional(
      Nullable(
        Type.Object({
          effort: Type.Optional(Nullable(ReasoningEffort)),
          summary: Type.Optional(Nullable(ReasoningSummary)),
          generate_summary: Type.Optional(Nullable(ReasoningSummary)),
          mode: Type.Optional(Type.Unknown({ description: 'Ignored: there is one mode, `standard`.' })),
          context: Type.Optional(
            Type.Unknown({ description: 'Ignored: models do not read the reasoning of earlier turns.' }),
          ),
        }),
      ),
    ),
    chat_template_kwargs: Type.Optional(ChatTemplateKwargs),
    top_logprobs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 20,
        description: 'Alternatives per token; above 0, the answer has log probabilities.',
      }),
    ),
    safety_identifier: Type.Optional(Type.String({ maxLength: 64 })),
    prompt_cache_key: Type.Optional(
      Type.String({ maxLength: 64, description: 'Not needed: prefixes are cached anyway.' }),
    ),
    ...CacheOptions,
    context_management: Type.Optional(
      Type.Unknown({
        description:
          'Ignored: `POST /v1/responses/compact` compacts a conversation, and `truncation` shortens a long prompt.',
      }),
    ),
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [
      {
        model: 'general-8b',
        input: 'When is the library open?',
        tools: [
          {
            type: 'file_search',
            file_search: { knowledge_base_ids: ['kb_01kaj3v0b8s4x2m6n9p1q5r7t3'], max_results: 5 },
          },
        ],
      },
    ],
  },
);

export type CreateResponse = Static<typeof CreateResponse>;

/** Usage summed over the model calls of a response. */
export const ResponseUsage = Type.Object({
  input_tokens: Type.Integer(),
  input_tokens_details: Type.Object({
    cached_tokens: Type.Integer(),
    cache_write_tokens: Type.Optional(
      Type.Literal(0, { description: 'Always 0: writing to the prefix cache is not counted.' }),
    ),
  }),
  output_tokens: Type.Integer(),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
  total_tokens: Type.Integer(),
});

export type ResponseUsage = Static<typeof ResponseUsage>;

/** Why a response failed. */
export const ResponseError = Type.Object({
  type: Type.String(),
  code: Type.String(),
  message: Type.String(),
  param: Nullable(Type.String()),
});

export type ResponseError = Static<typeof ResponseError>;

const ResolvedTool = Type.Union([
  Type.Object({ ...ResolvedMcpTool.properties, ...CallRuleFields }),
  Type.Object({ type: Type.Literal('query_table') }),
  Type.Object({
    type: Type.Literal('function'),
    name: Type.String(),
    description: Nullable(Type.String()),
    parameters: Nullable(JsonSchema),
    strict: Nullable(Type.Boolean()),
    ...OutputSchema,
    ...CallRuleFields,
  }),
  Type.Object({
    type: Type.Literal('file_search'),
    file_search: Type.Object({
      knowledge_base_ids: Type.Array(Type.String()),
      max_results: Type.Integer(),
      search_type: Type.String(),
      score_threshold: Type.Number(),
      rerank: Type.Boolean(),
      rerank_model: Nullable(Type.String()),
    }),
  }),
  Type.Object({
    type: Type.Literal('file_search'),
    vector_store_ids: Type.Array(Type.String()),
    max_num_results: Type.Integer(),
    ranking_options: Type.Object({ ranker: Type.String(), score_threshold: Type.Number(), ...HybridWeights }),
    filters: Nullable(AttributeFilter),
  }),
]);

export type ResolvedTool = Static<typeof ResolvedTool>;

/** A response. */
export const ResponseResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: Nullable(Type.Integer()),
  model: Type.String(),
  status: Type.Enum(['completed', 'incomplete', 'failed', 'queued', 'in_progress', 'cancelled']),
  incomplete_details: Nullable(
    Type.Object({
      reason: Type.String({
        description:
          '`max_output_tokens`, `max_turns`, `max_tool_calls`, `repeated_search`, `content_filter`, `client_disconnected` or `cancelled`.',
      }),
    }),
  ),
  error: Nullable(ResponseError),
  output: Type.Array(OutputItem),
  usage: Nullable(ResponseUsage),
  tool_call_count: Type.Integer(),
  turn_count: Type.Integer({ description: 'Calls of the model.' }),
  previous_response_id: Nullable(Type.String()),
  conversation: Type.Optional(Nullable(Type.Object({ id: Type.String() }))),
  instructions: Nullable(Type.String()),
  prompt: Type.Optional(Nullable(PromptReference)),
  tools: Type.Array(ResolvedTool),
  tool_choice: ToolChoice,
  parallel_tool_calls: Type.Boolean(),
  max_turns: Type.Integer(),
  max_tool_calls: Nullable(Type.Integer()),
  max_output_tokens: Nullable(Type.Integer()),
  temperature: Type.Number(),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  text: Type.Object({ format: TextFormat, verbosity: Type.Optional(Verbosity) }),
  reasoning: Type.Object({
    effort: Nullable(ReasoningEffort),
    summary: Nullable(ReasoningSummary),
    generate_summary: Type.Optional(Type.Null({ description: 'See `summary`.' })),
    mode: Type.Optional(Type.Literal('standard')),
    context: Type.Optional(Type.Literal('current_turn')),
  }),
  truncation: Truncation,
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.Literal('default'),
  metadata: Nullable(MetadataObject),
  user: Nullable(Type.String()),
  safety_identifier: Nullable(Type.String()),
  prompt_cache_key: Nullable(Type.String()),
  prompt_cache_retention: Type.Optional(Type.Null({ description: 'The prefix cache evicts by size, not by age.' })),
  moderation: Type.Optional(ModerationField),
});

export type ResponseResource = Static<typeof ResponseResource>;

/** Path of one response. */
export const ResponseParams = Type.Object({ response_id: Type.String() });

/** Query of `GET /v1/responses/{response_id}`. */
export const GetResponseQuery = Type.Object({
  stream: Type.Optional(Type.Boolean({ default: false, description: 'Streams a background response.' })),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'With `stream`: number of the last event that has been received.' }),
  ),
  include: IgnoredInclude,
  include_obfuscation: Type.Optional(Type.Boolean({ description: 'Nothing is padded.' })),
});

/** Response of `DELETE`. */
export const DeletedResponse = deletedSchema('response');

titleSchemas({ FileSearchSettings, CreateResponse, ResponseUsage, ResponseError, ResponseResource, DeletedResponse });
