import type { Deps } from '../../deps.ts';
import {
  deleteUnusedFilterKeys,
  insertFilterKeys,
  lockBase,
  MAX_FILTER_KEYS,
  selectFilterKeys,
} from './filter-keys-store.ts';

/**
 * The keys of metadata that a knowledge base filters by: the first that its documents bring, up to `MAX_FILTER_KEYS`. One object serves
 * one job.
 */
export class FilterKeys {
  readonly #db: Deps['db'];
  readonly #baseId: string;
  /** Looking through all documents for keys that are in no use any more is dear: a job does it once. */
  #hasCleared = false;

  constructor(db: Deps['db'], baseId: string) {
    this.#db = db;
    this.#baseId = baseId;
  }

  /** Those of the keys that documents with them may be filtered by; new ones are among them from now on, as long as there is room. */
  async admit(keys: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const known = new Set(await selectFilterKeys(this.#db.sql, this.#baseId));
    if (keys.isSubsetOf(known)) return known;
    if (known.size >= MAX_FILTER_KEYS && this.#hasCleared) return known;
    return this.#db.sql.transaction(async (sql) => {
      if (!(await lockBase(sql, this.#baseId))) return known;
      let held = new Set(await selectFilterKeys(sql, this.#baseId));
      if (held.union(keys).size > MAX_FILTER_KEYS && !this.#hasCleared) {
        this.#hasCleared = true;
        await deleteUnusedFilterKeys(sql, this.#baseId);
        held = new Set(await selectFilterKeys(sql, this.#baseId));
      }
      const added = [...keys.difference(held)].slice(0, Math.max(0, MAX_FILTER_KEYS - held.size));
      await insertFilterKeys(sql, this.#baseId, added);
      return held.union(new Set(added));
    });
  }
}
