import type { ModelBindings } from './model-bindings.ts';

/**
 * Binds a model to every generation id that has no binding of its own, instead of the bundled model. A first start
 * downloads nothing after that. Throws when the model cannot be loaded.
 */
export function bindGeneration(
  bindings: Pick<ModelBindings, 'defaultGenerationIds' | 'rebind'>,
  model: string,
  by: 'first-start' | 'operator',
): Promise<void> {
  return bindings.rebind(Object.fromEntries(bindings.defaultGenerationIds().map((id) => [id, { model, by }])), {
    initialPullDone: true,
  });
}
