import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { Nullable } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { ModerationField } from '../inference/moderation-notice.ts';
import {
  CACHE_NEEDS_NONE,
  ChatTemplateKwargs,
  ChunkUsage,
  ReasoningEffort,
  SamplingFields,
  Usage,
  Verbosity,
} from '../inference/parameters.ts';
import { CITED_CHUNK_FIELDS, fileCitation, Link } from '../knowledge-bases/grounding/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Name of a function or schema, as OpenAI accepts it. */
const Name = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  [MUST]: "be 1 to 64 letters, digits, '-', '_' and '.'",
});

const ContentPart = Type.Object({
  type: Type.String({ description: '`text`, `image_url` in messages of users, `refusal` in those of the assistant.' }),
  text: Type.Optional(Type.String()),
  refusal: Type.Optional(Type.String()),
  prompt_cache_breakpoint: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
  image_url: Type.Optional(
    Type.Object(
      {
        url: Type.Optional(Type.String({ description: 'A data URL in base64, or an address of a public host.' })),
        detail: Type.Optional(Type.String({ description: 'Resolution, such as `low`.' })),
      },
      { description: 'For models with the capability `vision`.' },
    ),
  ),
});

const FunctionCall = Type.Object(
  { name: Type.String({ minLength: 1 }), arguments: Type.String() },
  { description: 'Former form of `tool_calls`.' },
);

const Message = Type.Object({
  role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: Type.Optional(
    Type.Union([Type.String(), Type.Array(ContentPart), Type.Null()], {
      description: 'A string, parts, or null beside `tool_calls`.',
    }),
  ),
  refusal: Type.Optional(Type.String({ description: 'Of an assistant message whose content is null: its text.' })),
  name: Type.Optional(Type.String()),
  tool_calls: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        type: Type.Optional(Type.Literal('function')),
        function: Type.Object({ name: Type.String({ minLength: 1 }), arguments: Type.String() }),
      }),
    ),
  ),
  tool_call_id: Type.Optional(Type.String({ description: 'Id of the tool call that a `tool` message responds to.' })),
  function_call: Type.Optional(FunctionCall),
  audio: Type.Optional(Type.Unknown({ description: 'Ignored: answers have no audio.' })),
});

const JsonSchema = Type.Record(Type.String(), Type.Unknown());

const FunctionFields = {
  name: Name,
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(JsonSchema),
};

const Tool = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({ ...FunctionFields, strict: Type.Optional(Type.Boolean()) }),
});

const NamedTool = Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Type.String() }) });

/** Request body of `POST /v1/chat/completions`. */
export const ChatRequest = Type.Object(
  {
    model: Type.String({ minLength: 1 }),
    messages: Type.Array(Message, { minItems: 1 }),
    ...SamplingFields,
    max_tokens: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Maximum tokens per choice (default: the rest of the context).' }),
    ),
    max_completion_tokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "OpenAI's newer name of `max_tokens`." }),
    ),
    tools: Type.Optional(Type.Array(Tool, { maxItems: 128 })),
    tool_choice: Type.Optional(
      Type.Union([
        Type.Enum(['auto', 'none', 'required']),
        NamedTool,
        Type.Object({
          type: Type.Literal('allowed_tools'),
          allowed_tools: Type.Object({
            mode: Type.Enum(['auto', 'required']),
            tools: Type.Array(NamedTool, { minItems: 1, maxItems: 128 }),
          }),
        }),
      ]),
    ),
    parallel_tool_calls: Type.Optional(Type.Boolean({ default: true })),
    functions: Type.Optional(
      Type.Array(Type.Object(FunctionFields), {
        minItems: 1,
        maxItems: 128,
        description: 'Former form of `tools`: the answer has `function_call` instead of `tool_calls`.',
      }),
    ),
    function_call: Type.Optional(
      Type.Union([Type.Enum(['none', 'auto']), Type.Object({ name: Type.String() })], {
        description: 'Former form of `tool_choice`.',
      }),
    ),
    response_format: Type.Optional(
      Type.Object({
        type: Type.Enum(['text', 'json_object', 'json_schema']),
        json_schema: Type.Optional(
          Type.Object({
            name: Name,
            description: Type.Optional(Type.String()),
            strict: Type.Optional(Type.Boolean()),
            schema: Type.Optional(JsonSchema),
          }),
        ),
        schema: Type.Optional(JsonSchema),
      }),
    ),
    logprobs: Type.Optional(Type.Boolean({ default: false })),
    top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    modalities: Type.Optional(
      Type.Array(Type.Literal('text'), { minItems: 1, description: 'Only text is generated.' }),
    ),
    audio: Type.Optional(Type.Unknown({ description: 'Ignored: only text is generated.' })),
    moderation: Type.Optional(
      Type.Unknown({ description: 'Ignored: guardrail policies of the organization screen calls.' }),
    ),
    store: Type.Optional(
      Type.Boolean({
        description:
          'Chat completions are not stored. If `false`, the request is also excluded from the recording of prompts and answers.',
      }),
    ),
    prediction: Type.Optional(Type.Unknown({ description: 'Ignored: it only speeds up an answer.' })),
    prompt_cache_retention: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
    prompt_cache_options: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
    reasoning_effort: Type.Optional(ReasoningEffort),
    verbosity: Type.Optional(Verbosity),
    chat_template_kwargs: Type.Optional(ChatTemplateKwargs),
    knowledge_bases: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 64,
        description: 'Ids of knowledge bases whose documents are retrieved into the prompt.',
      }),
    ),
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ model: 'general-8b', messages: [{ role: 'user', content: 'Hello! What can you do?' }], stream: true }],
  },
);

export type ChatRequest = Static<typeof ChatRequest>;

const Logprob = Type.Object({
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Nullable(Type.Array(Type.Integer())),
});

const Logprobs = Type.Object({
  content: Type.Array(Type.Object({ ...Logprob.properties, top_logprobs: Type.Array(Logprob) })),
  refusal: Type.Null(),
});

const FinishReason = Type.Enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

/** Citation of a document by a part of the answer. */
export const Annotation = Type.Union([
  fileCitation(Nullable(Type.String({ description: 'Id of the uploaded file; null for documents of other sources.' }))),
  Type.Object({
    type: Type.Literal('url_citation'),
    url_citation: Link,
  }),
]);

export type Annotation = Static<typeof Annotation>;

/** Retrieved chunks in the prompt. */
export const KnowledgeBaseContext = Type.Object({ results: Type.Array(Type.Object(CITED_CHUNK_FIELDS)) });

export type KnowledgeBaseContext = Static<typeof KnowledgeBaseContext>;

const ServiceTier = Type.Optional(Type.Literal('default', { description: 'If the request has `service_tier`.' }));

/** Response of `POST /v1/chat/completions`. */
export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  system_fingerprint: Type.String({ description: 'Engine and model that generated the response.' }),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Nullable(Type.String()),
        refusal: Type.Null(),
        reasoning_content: Type.Optional(
          Type.String({ description: 'Reasoning of the model, not part of the answer.' }),
        ),
        annotations: Type.Optional(
          Type.Array(Annotation, { description: 'With `knowledge_bases`: citations of the documents.' }),
        ),
        tool_calls: Type.Optional(
          Type.Array(
            Type.Object({
              id: Type.String(),
              type: Type.Literal('function'),
              function: Type.Object({ name: Type.String(), arguments: Type.String() }),
            }),
          ),
        ),
        function_call: Type.Optional(
          Type.Object(FunctionCall.properties, { description: 'If the request has `functions`.' }),
        ),
      }),
      logprobs: Nullable(Logprobs),
      finish_reason: FinishReason,
    }),
  ),
  usage: Usage,
  service_tier: ServiceTier,
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Of the request.' })),
  moderation: Type.Optional(ModerationField),
  knowledge_base_context: Type.Optional(KnowledgeBaseContext),
});

export type ChatCompletion = Static<typeof ChatCompletion>;

/** One chunk of a streamed response. */
export const ChatCompletionChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  system_fingerprint: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Type.Object({
        role: Type.Optional(Type.Literal('assistant')),
        content: Type.Optional(Nullable(Type.String())),
        reasoning_content: Type.Optional(Type.String()),
        annotations: Type.Optional(Type.Array(Annotation)),
        tool_calls: Type.Optional(
          Type.Array(
            Type.Object({
              index: Type.Integer(),
              id: Type.Optional(Type.String()),
              type: Type.Optional(Type.Literal('function')),
              function: Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() }),
            }),
          ),
        ),
        function_call: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() })),
      }),
      logprobs: Type.Optional(Logprobs),
      finish_reason: Nullable(FinishReason),
    }),
  ),
  usage: Type.Optional(ChunkUsage),
  service_tier: ServiceTier,
  obfuscation: Type.Optional(Type.String({ description: 'Padding, with `stream_options.include_obfuscation`.' })),
  moderation: Type.Optional(ModerationField),
  knowledge_base_context: Type.Optional(KnowledgeBaseContext),
});

export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>;

titleSchemas({ ChatRequest, Annotation, KnowledgeBaseContext, ChatCompletion, ChatCompletionChunk });
