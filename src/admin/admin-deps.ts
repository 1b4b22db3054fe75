import type { Deps } from '../deps.ts';

/** Dependencies of the admin API. */
export type AdminDeps = Pick<Deps, 'db' | 'config' | 'now'> & {
  /** Whether requests may name a model id. */
  isModelId(id: string): boolean;
  /** Makes this process read a key, or the keys of an organization, again: no response precedes its effect. */
  evictKeys(id: string): void;
};
