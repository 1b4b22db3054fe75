import { isRetrievalModel, RETRIEVAL_MODELS } from '../downloads/downloadable-models.ts';
import type { ModelBindings } from './model-bindings.ts';
import type { StoredBinding } from './store.ts';

type Bindings = Pick<ModelBindings, 'chosenBy' | 'defaultGenerationIds' | 'rebind'>;

/** Model ids for retrieval that only bundled models serve. */
export function defaultRetrievalIds(bindings: Pick<Bindings, 'chosenBy'>): string[] {
  return Object.keys(RETRIEVAL_MODELS).filter((id) => bindings.chosenBy(id) === 'default');
}

/**
 * Binds models in one step to the ids that they are offered for and that only bundled models serve: those of
 * `RETRIEVAL_MODELS` to their ids, a chat model to every generation id. Knowledge bases are embedded again then. A
 * first start downloads nothing after a chat model. Throws when a model cannot be loaded; then none is bound.
 */
export function bindOffered(
  bindings: Bindings,
  models: readonly string[],
  by: StoredBinding['by'] = 'operator',
): Promise<void> {
  const retrievalIds = defaultRetrievalIds(bindings);
  const changes = models.flatMap((model) => {
    const ids = isRetrievalModel(model)
      ? retrievalIds.filter((id) => RETRIEVAL_MODELS[id] === model)
      : bindings.defaultGenerationIds();
    return ids.map((id) => [id, { model, by }] as const);
  });
  const initialPullDone = !models.every(isRetrievalModel);
  return bindings.rebind(Object.fromEntries(changes), { initialPullDone });
}
