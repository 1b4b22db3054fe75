import { sql } from 'drizzle-orm';
import { index, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** An organization: what owns keys, files, knowledge bases and usage, and sees nothing of another. */
export const organizations = pgTable('organizations', {
  id: text().primaryKey(),
  name: text().notNull().unique(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
});

/** Keys, of which only the SHA-256 is kept: a copy of this table opens nothing. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** SHA-256 of the whole key, hexadecimal. */
    hash: text().notNull().unique(),
    /** The key's last four characters, so that people can tell theirs apart. */
    hint: text().notNull(),
    scopes: text().array().notNull(),
    /** The only models that it may use; null: all. */
    models: text().array(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
  },
  (table) => [index('api_keys_by_organization').on(table.organizationId, table.id)],
);
