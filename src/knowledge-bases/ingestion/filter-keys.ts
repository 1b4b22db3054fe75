import type { Deps } from '../../deps.ts';
import { deleteUnusedFilterKeys, insertFilterKeys, lockBase, MAX_FILTER_KEYS, selectFilterKeys } from './store.ts';

/**
 * The metadata keys that a knowledge base can filter by: the first `MAX_FILTER_KEYS` that its documents bring. Create
 * one per job.
 */
export class FilterKeys {
  readonly #db: Deps['db'];
  readonly #baseId: string;
  /** Finding unused keys scans all documents, so a job does it at most once. */
  #hasCleared = false;

  constructor(db: Deps['db'], baseId: string) {
    this.#db = db;
    this.#baseId = baseId;
  }

  /** Adds new keys while there is room. Returns all filter keys of the knowledge base. */
  async admit(keys: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const storedKeys = new Set(await selectFilterKeys(this.#db.sql, this.#baseId));
    if (keys.isSubsetOf(storedKeys)) return storedKeys;
    if (storedKeys.size >= MAX_FILTER_KEYS && this.#hasCleared) return storedKeys;
    return this.#db.sql.transaction(async (sql) => {
      if (!(await lockBase(sql, this.#baseId))) return storedKeys;
      let current = new Set(await selectFilterKeys(sql, this.#baseId));
      if (current.union(keys).size > MAX_FILTER_KEYS && !this.#hasCleared) {
        this.#hasCleared = true;
        await deleteUnusedFilterKeys(sql, this.#baseId);
        current = new Set(await selectFilterKeys(sql, this.#baseId));
      }
      const added = [...keys.difference(current)].slice(0, Math.max(0, MAX_FILTER_KEYS - current.size));
      await insertFilterKeys(sql, this.#baseId, added);
      return current.union(new Set(added));
    });
  }
}
