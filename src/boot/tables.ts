import { pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Stores that belong to this database, as the first process used them. Processes with other stores do not start. */
export const storeIdentities = pgTable('store_identities', {
  store: text({ enum: ['files', 'index', 'secrets'] }).primaryKey(),
  /** Marker that exists in this store only: the key of a blob, the name of a table, or a value sealed with the key. */
  marker: text().notNull(),
  /** Where the first process found the store, for messages: a URL without credentials, or a host and a folder. */
  location: text().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});
