import type { Config } from '../config/config.ts';
import type { Deps } from '../deps.ts';
import type { ModelBindings } from '../models/bindings/model-bindings.ts';

/** Dependencies of the admin API. */
export type AdminDeps = Pick<Deps, 'db' | 'config' | 'logger' | 'models' | 'now'> & {
  bindings: Pick<ModelBindings, 'stored' | 'chosenBy' | 'defaultGenerationIds' | 'rebind' | 'fetchFile' | 'isModelId'>;
  /** Makes this process read a key, or the keys of an organization, again: no response precedes its effect. */
  evictKeys(id: string): void;
  /** The configuration after reloads; absent: `config`. */
  effectiveConfig?: () => Config;
};
