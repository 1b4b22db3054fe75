import { type SQL, sql } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { limitedCreator } from '../lib/organization-context.ts';

/** The condition that the key of the current request has created a row; undefined unless the key is limited. */
export function onlyCreated(creator: AnyPgColumn | SQL<string>): SQL | undefined {
  const keyId = limitedCreator();
  return keyId === null ? undefined : sql`${creator} = ${keyId}`;
}
