import type { Deps } from '../deps.ts';
import type { GenerationEngine } from '../engines/engine.ts';
import type { Capabilities, ServedModel } from '../engines/registry.ts';
import { engineUnavailable, insufficientScope, invalidValue, notFound } from '../errors.ts';
import type { Caller } from '../lib/caller.ts';

/** A model that the caller may use for what they ask. */
export interface AdmittedModel {
  model: ServedModel;
  engine: GenerationEngine;
}

/** A backend that is bound later than this process started needs a restart: there is no point in asking sooner. */
export const UNBOUND_RETRY_SECONDS = 60;

/**
 * Admits a call to a model. Throws 404 `model_not_found`, 403 where the key is limited to other models, 400 where the
 * model does not do what is asked, 503 where nothing serves it.
 */
export function admit(
  deps: Pick<Deps, 'models'>,
  caller: Caller,
  modelId: string,
  capability: keyof Capabilities,
): AdmittedModel {
  const model = deps.models.get(modelId);
  if (model === undefined) throw notFound('model', modelId, 'model');
  requireModel(caller, modelId);
  if (!model.capabilities[capability]) {
    throw invalidValue('model', `'${modelId}' cannot be used here: it does not do ${capability.replaceAll('_', ' ')}s`);
  }
  if (model.engine === null) throw engineUnavailable(`Nothing serves '${modelId}' at present.`, UNBOUND_RETRY_SECONDS);
  return { model, engine: model.engine };
}

/** Throws 403 `insufficient_scope` where the key is limited to other models. `param` is the field that names the model. */
export function requireModel(caller: Caller, modelId: string, param = 'model'): void {
  if (caller.models === null || caller.models.has(modelId)) return;
  throw insufficientScope(`This API key may not use the model '${modelId}'.`, param);
}
