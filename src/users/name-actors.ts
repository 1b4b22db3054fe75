import { selectKeyNames } from '../accounts/store.ts';
import type { Sql } from '../db/db.ts';
import { selectUserEmails } from './store.ts';

/** Names of API keys and emails of users by their ids; other ids are absent. */
export async function nameActors(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const [keys, users] = await Promise.all([selectKeyNames(sql, ids), selectUserEmails(sql, ids)]);
  return new Map([...keys, ...users]);
}
