import { type Static, Type } from 'typebox';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { RETRIEVAL_MODELS } from '../downloads/downloadable-models.ts';
import { Model } from '../schema.ts';

/** Body of `PUT /v1/admin/models/{model_id}/upstreams`. */
export const BindUpstreams = Type.Object(
  {
    routes: Type.Array(
      Type.Object({
        upstream_id: Type.String({ description: 'A server of `/v1/admin/upstreams`.' }),
        model: Type.String({ minLength: 1, maxLength: 256, description: "The server's own name of the model." }),
        weight: Type.Integer({
          minimum: 0,
          maximum: 1_000,
          default: 1,
          description: 'Share of the requests, relative to the other weights. 0: a fallback.',
        }),
      }),
      {
        minItems: 1,
        maxItems: 16,
        description:
          'At least one with a weight above 0. Another server gets the request while none of its answer has arrived: first those with a weight, then the fallbacks in this order. Several: chat models only.',
      },
    ),
    context_length: Type.Optional(
      Type.Union([Type.Integer({ minimum: 16 }), Type.Null()], {
        description: 'Tokens of prompt and answer together. Null: as the servers report, the smallest.',
      }),
    ),
    pricing: Type.Optional(
      Type.Union(
        [
          Type.Object({
            prompt: Type.Number({ minimum: 0 }),
            completion: Type.Number({ minimum: 0 }),
            unit: Type.Enum(['per_1k_tokens', 'per_1m_tokens']),
          }),
          Type.Null(),
        ],
        { description: 'Credits per unit. Null: the default of the model id.' },
      ),
    ),
    vision: Type.Optional(Type.Boolean({ default: false, description: 'Whether messages may have images.' })),
  },
  { examples: [{ routes: [{ upstream_id: 'ups_01K0AXCVYZ0000000000000000', model: 'llama-3.3-70b', weight: 1 }] }] },
);

export type BindUpstreams = Static<typeof BindUpstreams>;

/** The servers of a model id. */
export const UpstreamBinding = Type.Object({
  routes: Type.Array(Type.Object({ upstream_id: Type.String(), model: Type.String(), weight: Type.Integer() })),
  context_length: Type.Union([Type.Integer(), Type.Null()]),
  pricing: Type.Union([Model.properties.pricing, Type.Null()]),
  vision: Type.Boolean(),
});

export type UpstreamBinding = Static<typeof UpstreamBinding>;

/** A model id with its stored binding and who chose its engine. */
export const BoundModel = Type.Object({
  ...Model.properties,
  stored_model: Type.Union([Type.String(), Type.Null()], { description: 'Model file that the id is bound to.' }),
  upstream_binding: Type.Union([UpstreamBinding, Type.Null()], {
    description: 'Servers that the id was bound to over the API.',
  }),
  chosen_by: Type.Enum(['configuration', 'upstream', 'environment', 'command', 'first-start', 'default'], {
    description:
      '`configuration` overrides all others; `upstream`, a binding to servers over the API, overrides those after it.',
  }),
});

export type BoundModel = Static<typeof BoundModel>;

/** Body of `PUT /v1/admin/models/{model_id}/binding`. */
export const BindModel = Type.Object(
  {
    model: Type.String({ description: 'Name of a model on the disk. `bundled` removes the binding.' }),
  },
  { examples: [{ model: 'qwen2.5-1.5b-instruct' }] },
);

export type BindModel = Static<typeof BindModel>;

/** The outcome of a change of a binding. */
export const ModelBindingResult = Type.Object({
  id: Type.String({ description: 'The model id.' }),
  object: Type.Literal('model_binding'),
  model: Type.String({ description: 'Name of the model file; `bundled` when the binding was removed.' }),
  decided_by: Type.Union([Type.Enum(['configuration', 'upstream', 'environment']), Type.Null()], {
    description: 'What overrides the stored binding; null when the binding is in effect.',
  }),
  answered_by: Type.Union([Type.String(), Type.Null()], { description: 'Engine and model that serve the id now.' }),
});

export type ModelBindingResult = Static<typeof ModelBindingResult>;

/** Answer of `DELETE /v1/admin/models/{model_id}/upstreams`. */
export const DeletedModelBinding = Type.Object({
  id: Type.String({ description: 'The model id.' }),
  object: Type.Literal('model_binding'),
  deleted: Type.Literal(true),
});

/** Path of a model file. */
export const ModelFileParams = Type.Object({ name: Type.String() });

/** Answer of `DELETE /v1/admin/model-files/{name}`. */
export const DeletedModelFile = Type.Object({
  name: Type.String(),
  object: Type.Literal('model_file'),
  deleted: Type.Literal(true),
  freed_bytes: Type.Integer(),
});

export type DeletedModelFile = Static<typeof DeletedModelFile>;

const OptionalText = Type.Union([Type.String(), Type.Null()]);
const OptionalInteger = Type.Union([Type.Integer(), Type.Null()]);

/** Models on the disk and models to pull. */
export const ModelFiles = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      name: Type.String(),
      bytes: Type.Integer(),
      from: OptionalText,
      use: OptionalText,
      architecture: OptionalText,
      parameters: Type.Union([Type.Number(), Type.Null()]),
      context_length: OptionalInteger,
      license: OptionalText,
    }),
    { description: 'Null: unknown, for files that were copied there by hand.' },
  ),
  unfinished: Type.Array(Type.Object({ name: Type.String(), bytes: Type.Integer() }), {
    description: 'Partial downloads, which the next pull resumes.',
  }),
  available: Type.Array(
    Type.Object({
      name: Type.String(),
      approximate_bytes: Type.Integer(),
      memory_bytes: Type.Integer({
        description: 'Estimated memory: weights, a KV cache of about 8,192 tokens, and buffers.',
      }),
      parameters: Type.Integer(),
      context_length: Type.Integer({ description: 'Context length of the training, in tokens.' }),
      license: Type.String(),
      suits: Type.Array(Type.String(), { description: 'Model ids that it suits, best first.' }),
      note: Type.String(),
    }),
    { description: 'Models that can be pulled by name.' },
  ),
  machine: Type.Object(
    {
      memory_bytes: Type.Integer({ description: 'Memory of the machine, or the memory limit of the container.' }),
      free_memory_bytes: Type.Integer(),
      free_disk_bytes: Type.Integer({ description: 'Free space in the folder of pulled models.' }),
    },
    { description: 'The machine of the process that served the request.' },
  ),
  suggested: Type.Union([Type.String(), Type.Null()], {
    description:
      'The model of `available` that suits the free memory of this machine while only the bundled model answers; null otherwise.',
  }),
  suggested_for_retrieval: Type.Array(Type.String(), {
    description:
      'Models of `available` to pull with `suggested`: an embedding model and a reranker, while only the bundled ones serve and 8 GB of memory are free.',
  }),
});

export type ModelFiles = Static<typeof ModelFiles>;

/** Body of `POST /v1/admin/model-pulls`. */
export const PullModel = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'A name of `available`, a tag of Ollama, or `hf:owner/repository/file.gguf`.',
    }),
    bind: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether the complete model serves the ids that only bundled models serve: a model of `suggested_for_retrieval` those for embeddings or reranking, any other every chat id. Knowledge bases are embedded again in the background after a change of the embedding model.',
      }),
    ),
    with: Type.Optional(
      Type.Array(Type.Enum(Object.values(RETRIEVAL_MODELS)), {
        uniqueItems: true,
        description:
          'Models that are pulled with it, such as those of `suggested_for_retrieval`; requires `bind`. All are bound in one step when all are complete. If one fails, the pull of `source` fails, too, and none is bound; the same request resumes.',
      }),
    ),
  },
  { examples: [{ source: 'qwen2.5-1.5b' }, { source: 'qwen2.5-1.5b', bind: true, with: ['qwen3-embedding-0.6b'] }] },
);

export type PullModel = Static<typeof PullModel>;

/** A pull of any process. */
export const ModelPullStatus = Type.Object({
  object: Type.Literal('model_pull'),
  name: Type.String(),
  location: Type.String({ description: 'Host and folder that get the file.' }),
  from: Type.String(),
  state: Type.Enum(['pulling', 'completed', 'failed', 'cancelled']),
  received_bytes: Type.Integer(),
  total_bytes: OptionalInteger,
  detail: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed, or the reason of the last retry.' }),
  created_at: Type.Integer(),
  ended_at: OptionalInteger,
});

export type ModelPullStatus = Static<typeof ModelPullStatus>;

/** Pulls in order of their start. */
export const ModelPullList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelPullStatus) });

/** Answer of the routes that load and unload a model. */
export const LoadedModel = Type.Object({ id: Type.String(), object: Type.Literal('model'), loaded: Type.Boolean() });
/** A model that was loaded or unloaded. */
export type LoadedModel = Static<typeof LoadedModel>;

titleSchemas({
  ModelFiles,
  PullModel,
  ModelPullStatus,
  ModelPullList,
  LoadedModel,
  BindUpstreams,
  UpstreamBinding,
  BoundModel,
  BindModel,
  ModelBindingResult,
  DeletedModelBinding,
  DeletedModelFile,
});
