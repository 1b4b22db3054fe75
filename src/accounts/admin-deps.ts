import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';

/** Dependencies of the administration of organizations and API keys. */
export type AccountAdminDeps = Pick<Deps, 'db' | 'config' | 'now'> & {
  /** The model ids that a key can be restricted to. */
  bindings: { isModelId(id: string): boolean };
  /** The ids of knowledge bases of the organization that the calling key may use. */
  existingKnowledgeBases(sql: Sql, organizationId: string, ids: readonly string[]): Promise<readonly string[]>;
  /** Makes this process read a key, or the keys of an organization, again: no response precedes its effect. */
  evictKeys(id: string): void;
  /** Applies the changed budget of a key: within the transaction of the change, and after it in every process. */
  keySpending: {
    forget(sql: Sql, keyId: string): Promise<unknown>;
    awaitRevocations(sql: Sql, keyId: string): Promise<void>;
  };
};
