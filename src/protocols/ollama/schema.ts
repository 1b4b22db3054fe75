/** Bodies of `/api`. Fields that are ignored are listed in docs/use/ollama.md. */
import { type Static, Type } from 'typebox';
import { ChatRequest } from '../../chat/schema.ts';
import { NULL_IS_ABSENT } from '../../http/null-fields.ts';
import { ModerationField } from '../../inference/moderation-notice.ts';
import { SamplingFields } from '../../inference/parameters.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';

const { temperature, top_p, stop, presence_penalty, frequency_penalty, seed } = SamplingFields;

const Images = Type.Array(Type.String(), {
  maxItems: 64,
  description: 'PNG, JPEG, GIF or WebP in base64, for models with the capability `vision`.',
});

const ModelName = Type.String({ minLength: 1, description: 'A model id; `:latest` may follow.' });

const CALL_FIELDS = {
  model: ModelName,
  stream: Type.Optional(Type.Boolean({ default: true })),
  format: Type.Optional(
    Type.Union([Type.Enum(['json', '']), Type.Record(Type.String(), Type.Unknown())], {
      description: '`json`, or a JSON schema.',
    }),
  ),
  options: Type.Optional(
    Type.Object(
      {
        ...{ temperature, top_p, stop, presence_penalty, frequency_penalty, seed },
        num_predict: Type.Optional(
          Type.Integer({ description: 'Maximum tokens. 0 and below: the rest of the context.' }),
        ),
      },
      {
        description:
          'Others, such as `top_k` and `repeat_penalty`, are sent to upstream servers if `QUIRE_UPSTREAM_PARAMETERS` names them, and ignored otherwise.',
      },
    ),
  ),
  think: Type.Optional(
    Type.Union([Type.Boolean(), Type.Enum(['low', 'medium', 'high', 'max'])], {
      description: 'Effort of models that reason. `false`: the answer does not show the reasoning.',
    }),
  ),
  keep_alive: Type.Optional(
    Type.Union([Type.String(), Type.Number()], {
      description: 'With an empty prompt: 0 unloads the model (scope `admin`). Ignored otherwise.',
    }),
  ),
  logprobs: Type.Optional(Type.Boolean()),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
} as const;

const Message = Type.Object({
  role: Type.Enum(['system', 'user', 'assistant', 'tool']),
  content: Type.Optional(Type.String()),
  images: Type.Optional(Images),
  thinking: Type.Optional(Type.String({ description: 'Not sent to the model again.' })),
  tool_calls: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.Optional(Type.String()),
        function: Type.Object({
          name: Type.String({ minLength: 1 }),
          arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      }),
    ),
  ),
  tool_name: Type.Optional(Type.String({ description: 'On `tool` messages: the tool that was called.' })),
  tool_call_id: Type.Optional(Type.String({ description: 'On `tool` messages: the id of the call.' })),
});

/** Request body of `POST /api/chat`. */
export const OllamaChatRequest = Type.Object(
  {
    ...CALL_FIELDS,
    messages: Type.Optional(Type.Array(Message, { description: 'Empty: loads or unloads the model.' })),
    tools: ChatRequest.properties.tools,
  },
  {
    [NULL_IS_ABSENT]: true,
    examples: [{ model: 'general-8b:latest', messages: [{ role: 'user', content: 'Hello!' }], stream: false }],
  },
);
export type OllamaChatRequest = Static<typeof OllamaChatRequest>;

/** Request body of `POST /api/generate`. */
export const OllamaGenerateRequest = Type.Object(
  {
    ...CALL_FIELDS,
    prompt: Type.Optional(Type.String({ description: 'Empty: loads or unloads the model.' })),
    suffix: Type.Optional(
      Type.String({ description: 'Text after the completion, for models that fill in the middle.' }),
    ),
    system: Type.Optional(Type.String()),
    images: Type.Optional(Images),
    raw: Type.Optional(Type.Boolean({ description: 'Continues the prompt without a chat template.' })),
    template: Type.Optional(Type.String({ description: 'Rejected: send a prompt with `raw` instead.' })),
    context: Type.Optional(Type.Array(Type.Integer(), { description: 'Rejected unless empty: use `/api/chat`.' })),
  },
  { [NULL_IS_ABSENT]: true, examples: [{ model: 'general-8b:latest', prompt: 'Hello!', stream: false }] },
);
export type OllamaGenerateRequest = Static<typeof OllamaGenerateRequest>;

/** Fields of `chat` and `generate` alike. */
export type OllamaCallFields = Omit<OllamaChatRequest, 'messages' | 'tools'>;

/** Request body of `POST /api/embed`. */
export const OllamaEmbedRequest = Type.Object(
  {
    model: ModelName,
    input: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 2048 })]),
    dimensions: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { [NULL_IS_ABSENT]: true },
);

/** Request body of `POST /api/embeddings`. */
export const OllamaEmbeddingRequest = Type.Object({ model: ModelName, prompt: Type.String() });

/** A model to show or to pull. Older clients send `name`. */
export const OllamaModelRequest = Type.Object(
  {
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The older name of `model`.' })),
    stream: Type.Optional(Type.Boolean({ default: true })),
  },
  { [NULL_IS_ABSENT]: true },
);
export type OllamaModelRequest = Static<typeof OllamaModelRequest>;

const Nanoseconds = Type.Optional(Type.Integer({ description: 'Nanoseconds.' }));

const ANSWER_FIELDS = {
  model: Type.String(),
  created_at: Type.String(),
  done: Type.Boolean(),
  done_reason: Type.Optional(Type.Enum(['stop', 'length', 'content_filter', 'load', 'unload'])),
  total_duration: Nanoseconds,
  load_duration: Nanoseconds,
  prompt_eval_count: Type.Optional(Type.Integer()),
  prompt_eval_duration: Nanoseconds,
  eval_count: Type.Optional(Type.Integer()),
  eval_duration: Nanoseconds,
  logprobs: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
  moderation: Type.Optional(ModerationField),
} as const;

/** Answer of `POST /api/chat`, or one object of its stream. */
export const OllamaChatResponse = Type.Object({
  ...ANSWER_FIELDS,
  message: Type.Object({
    role: Type.Literal('assistant'),
    content: Type.String(),
    thinking: Type.Optional(Type.String()),
    tool_calls: Type.Optional(
      Type.Array(
        Type.Object({
          id: Type.String(),
          function: Type.Object({
            index: Type.Integer(),
            name: Type.String(),
            arguments: Type.Record(Type.String(), Type.Unknown()),
          }),
        }),
      ),
    ),
  }),
});

/** Answer of `POST /api/generate`, or one object of its stream. */
export const OllamaGenerateResponse = Type.Object({
  ...ANSWER_FIELDS,
  response: Type.String(),
  thinking: Type.Optional(Type.String()),
});

const Vector = Type.Array(Type.Number());

/** Answer of `POST /api/embed`. */
export const OllamaEmbedResponse = Type.Object({
  model: Type.String(),
  embeddings: Type.Array(Vector),
  total_duration: Nanoseconds,
  load_duration: Nanoseconds,
  prompt_eval_count: Type.Integer(),
  moderation: Type.Optional(ModerationField),
});

/** Answer of `POST /api/embeddings`. */
export const OllamaEmbeddingResponse = Type.Object({
  embedding: Vector,
  moderation: Type.Optional(ModerationField),
});

const FACTS = {
  modified_at: Type.String(),
  details: Type.Object({
    parent_model: Type.String(),
    format: Type.String(),
    family: Type.String(),
    families: Type.Array(Type.String()),
    parameter_size: Type.String({ description: 'Such as `1.5B`; empty if unknown.' }),
    quantization_level: Type.String(),
  }),
  capabilities: Type.Array(Type.Enum(['completion', 'tools', 'insert', 'vision', 'embedding'])),
};

/** Answer of `GET /api/tags` and `GET /api/ps`. */
export const OllamaModels = Type.Object({
  models: Type.Array(
    Type.Object({
      name: Type.String(),
      model: Type.String(),
      ...FACTS,
      size: Type.Integer({ description: '0: unknown.' }),
      digest: Type.String(),
      expires_at: Type.Optional(Type.String()),
      size_vram: Type.Optional(Type.Integer()),
    }),
  ),
});

/** Answer of `GET /api/version`. */
export const OllamaVersion = Type.Object({ version: Type.String() });

/** Answer of `POST /api/show`. */
export const OllamaModelDetails = Type.Object({
  ...FACTS,
  ...{ license: Type.String(), modelfile: Type.String(), parameters: Type.String(), template: Type.String() },
  model_info: Type.Record(Type.String(), Type.Unknown()),
});

/** Answer of `POST /api/pull`, or one object of its stream. */
export const OllamaProgress = Type.Object({
  status: Type.String(),
  digest: Type.Optional(Type.String()),
  total: Type.Optional(Type.Integer()),
  completed: Type.Optional(Type.Integer()),
});
export type OllamaProgress = Static<typeof OllamaProgress>;

titleSchemas({
  ...{ OllamaChatRequest, OllamaGenerateRequest, OllamaEmbedRequest, OllamaEmbeddingRequest, OllamaModelRequest },
  ...{ OllamaChatResponse, OllamaGenerateResponse, OllamaEmbedResponse, OllamaEmbeddingResponse },
  ...{ OllamaModels, OllamaModelDetails, OllamaProgress, OllamaVersion },
});
