import type { Deps } from '../deps.ts';
import { type ModelView, modelBackend, modelContextTokens } from '../engines/registry.ts';
import { notFound } from '../errors.ts';
import type { Model } from './schema.ts';

/** The model of that id. Throws 404 `model_not_found`; `param` is the parameter that named it. */
export function findModel(deps: Pick<Deps, 'models'>, id: string, param: 'model' | 'model_id'): ModelView {
  const model = deps.models.get(id);
  if (model === undefined) throw notFound('model', id, param);
  return model;
}

/** The model as the wire shows it. */
export function viewModel(model: ModelView): Model {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAt,
    owned_by: model.ownedBy,
    capabilities: model.capabilities,
    default_temperature: model.engine === null ? null : (model.engine.features().defaultTemperature ?? 1),
    context_length: modelContextTokens(model),
    pricing: model.pricing,
    shutdown_date: model.shutdownDate ?? null,
    backend: modelBackend(model),
  };
}
