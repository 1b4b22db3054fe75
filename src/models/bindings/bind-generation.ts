import { RETRIEVAL_MODELS } from '../downloads/downloadable-models.ts';
import type { ModelBindings } from './model-bindings.ts';

type Bindings = Pick<ModelBindings, 'chosenBy' | 'defaultGenerationIds' | 'rebind'>;

/**
 * Binds a model to every generation id that has no binding of its own, instead of the bundled model. A first start
 * downloads nothing after that. Throws when the model cannot be loaded.
 */
export function bindGeneration(
  bindings: Omit<Bindings, 'chosenBy'>,
  model: string,
  by: 'first-start' | 'operator',
): Promise<void> {
  return bindings.rebind(Object.fromEntries(bindings.defaultGenerationIds().map((id) => [id, { model, by }])), {
    initialPullDone: true,
  });
}

/** Model ids for retrieval that only bundled models serve. */
export function defaultRetrievalIds(bindings: Pick<Bindings, 'chosenBy'>): string[] {
  return Object.keys(RETRIEVAL_MODELS).filter((id) => bindings.chosenBy(id) === 'default');
}

/**
 * Binds a model to the ids that it is offered for and that only bundled models serve: one of `RETRIEVAL_MODELS` to its
 * id, others as `bindGeneration` does. Knowledge bases of the id are embedded again then.
 */
export function bindOffered(bindings: Bindings, model: string): Promise<void> {
  if (!Object.values(RETRIEVAL_MODELS).includes(model)) return bindGeneration(bindings, model, 'operator');
  const ids = defaultRetrievalIds(bindings).filter((id) => RETRIEVAL_MODELS[id] === model);
  return bindings.rebind(Object.fromEntries(ids.map((id) => [id, { model, by: 'operator' }])));
}
