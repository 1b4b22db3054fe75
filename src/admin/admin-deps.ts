import type { Deps } from '../deps.ts';

/** Dependencies of the admin API. */
export type AdminDeps = Pick<Deps, 'db' | 'models' | 'config' | 'now'> & {
  /** Makes this process read a key, or the keys of an organization, again: no response precedes its effect. */
  evictKeys(id: string): void;
};
