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

titleSchemas({ BoundModel, BindModel, ModelBindingResult, DeletedModelFile });
