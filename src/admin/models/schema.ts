import { type Static, Type } from 'typebox';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { Model } from '../../models/schema.ts';

/** A model id with its stored binding and who chose its engine. */
export const BoundModel = Type.Object({
  ...Model.properties,
  stored_model: Type.Union([Type.String(), Type.Null()], { description: 'Model file that the id is bound to.' }),
  chosen_by: Type.Enum(['configuration', 'environment', 'command', 'first-start', 'default'], {
    description: '`configuration` and `environment` override stored bindings.',
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
  decided_by: Type.Union([Type.Enum(['configuration', 'environment']), Type.Null()], {
    description: 'The setting that overrides the stored binding; null when the binding is in effect.',
  }),
  answered_by: Type.Union([Type.String(), Type.Null()], { description: 'Engine and model that serve the id now.' }),
});

export type ModelBindingResult = Static<typeof ModelBindingResult>;

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

/** State of an engine of this process. */
export const EngineStatus = Type.Object(
  {
    object: Type.Literal('engine'),
    models: Type.Array(Type.String(), { description: 'Model ids that it serves.' }),
    engine: Type.Enum(['bundled', 'local', 'upstream']),
    name: Type.String({ description: "The engine's own name of the model." }),
    state: Type.Enum(['ready', 'not loaded', 'failed'], {
      description: '`not loaded`: the next request loads the model.',
    }),
    error: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed; null unless `failed`.' }),
    slots: Type.Union(
      [Type.Object({ allocated: Type.Integer(), running: Type.Integer(), waiting: Type.Integer() }), Type.Null()],
      { description: 'KV-cache slots; null for engines without slots.' },
    ),
    memory_bytes: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Resident memory of the process of the model; null: it has none of its own.',
    }),
    can_unload: Type.Boolean({ description: 'Whether the model can be loaded and unloaded.' }),
    servers: Type.Array(
      Type.Object({
        url: Type.String({ description: 'Scheme, host and port.' }),
        healthy: Type.Boolean({ description: 'False while the server gets no requests after a failure.' }),
        in_flight: Type.Integer(),
        last_error: Type.Union([Type.Object({ message: Type.String(), created_at: Type.Integer() }), Type.Null()], {
          description: 'The last failure since the start; null: none.',
        }),
      }),
      { description: 'Servers of an upstream, in the order of their configuration. Least outstanding requests first.' },
    ),
  },
  {
    examples: [
      {
        object: 'engine',
        models: ['general-8b'],
        engine: 'upstream',
        name: 'llama-3.1-8b',
        state: 'ready',
        error: null,
        slots: null,
        memory_bytes: null,
        can_unload: false,
        servers: [{ url: 'http://gpu-1:8000', healthy: true, in_flight: 3, last_error: null }],
      },
    ],
  },
);

export type EngineStatus = Static<typeof EngineStatus>;

/** All engines of this process. */
export const EngineStatusList = Type.Object({
  object: Type.Literal('list'),
  service: Type.Object({ pid: Type.Integer(), memory_bytes: Type.Integer() }, { description: 'The process itself.' }),
  data: Type.Array(EngineStatus),
});

export type EngineStatusList = Static<typeof EngineStatusList>;

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
      parameters: Type.Integer(),
      license: Type.String(),
      suits: Type.Array(Type.String(), { description: 'Model ids that it suits, best first.' }),
      note: Type.String(),
    }),
    { description: 'Models that can be pulled by name.' },
  ),
  suggested: Type.Union([Type.String(), Type.Null()], {
    description:
      'The model of `available` that suits the free memory of this machine while only the bundled model answers; null otherwise.',
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
        description: 'Whether the complete model answers for every chat id that only the bundled model serves.',
      }),
    ),
  },
  { examples: [{ source: 'qwen2.5-1.5b' }] },
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
  EngineStatus,
  EngineStatusList,
  BoundModel,
  BindModel,
  ModelBindingResult,
  DeletedModelFile,
});
