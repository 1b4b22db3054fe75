import { sql as expression, type SQL } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** The SET clause of an upsert that replaces the columns. */
export function excludedColumns(columns: Record<string, PgColumn>): Record<string, SQL> {
  return Object.fromEntries(
    Object.entries(columns).map(([key, { name }]) => [key, expression.raw(`excluded."${name}"`)]),
  );
}
