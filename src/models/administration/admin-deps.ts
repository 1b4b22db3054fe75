import type { Deps } from '../../deps.ts';
import type { ModelBindings } from '../bindings/model-bindings.ts';

/** Dependencies of the administration of servers. */
export type UpstreamAdminDeps = Pick<Deps, 'db' | 'config' | 'logger' | 'models' | 'now' | 'secrets'> & {
  bindings: Pick<ModelBindings, 'stored' | 'refresh' | 'requireStartable'>;
};

/** Dependencies of the administration of models. */
export type ModelAdminDeps = Pick<Deps, 'db' | 'config' | 'logger' | 'models' | 'now'> & {
  bindings: Pick<ModelBindings, 'stored' | 'chosenBy' | 'defaultGenerationIds' | 'rebind' | 'fetchFile' | 'isModelId'>;
};
