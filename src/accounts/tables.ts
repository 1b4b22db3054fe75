import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';
import type { KeyBudget, RateLimits } from '../lib/caller.ts';

/** Organizations (tenants). They own keys, files, knowledge bases and usage, isolated from each other. */
export const organizations = pgTable(
  'organizations',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    /** Credits left, in micros; null: unlimited. */
    balanceMicros: bigint('balance_micros', { mode: 'number' }),
    /** Rate limits of all keys together; null: unlimited. */
    limits: jsonb().$type<RateLimits>(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
    /**
     * Deleted organizations stay: running calls are still charged, and usage refers to the organization and its keys.
     */
    deletedAt: timestamp('deleted_at', { withTimezone: true }),
    /** When the data of a deleted organization, or data that late requests have added, is deleted; null: never. */
    purgeAt: timestamp('purge_at', { withTimezone: true }),
  },
  (table) => [
    uniqueIndex('organizations_by_name').on(table.name).where(sql`${table.deletedAt} is null`),
    index('organizations_by_purge').on(table.purgeAt).where(sql`${table.purgeAt} is not null`),
  ],
);

/** API keys. Only the SHA-256 of a key is stored. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    /** The person who made it for itself; null: a key of the organization. */
    ownerId: text('owner_id'),
    name: text().notNull(),
    /** SHA-256 of the secret, hexadecimal. */
    hash: text().notNull().unique(),
    /** SHA-256 of the secret before the last rotation, accepted until `previousExpiresAt`. */
    previousHash: text('previous_hash').unique(),
    previousExpiresAt: timestamp('previous_expires_at', { withTimezone: true }),
    /** Last four characters of the key, for identification. */
    hint: text().notNull(),
    scopes: text().array().notNull(),
    /** Model ids that the key may use; null: all. */
    models: text().array(),
    /** Knowledge bases that the key may use, also deleted ones; null: all. */
    knowledgeBaseIds: text('knowledge_base_ids').array(),
    /** Null: the default limits. */
    limits: jsonb().$type<RateLimits>(),
    /** Null: unlimited. */
    budget: jsonb().$type<KeyBudget>(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    /** Exact to a minute. */
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
  },
  (table) => [index('api_keys_by_organization').on(table.organizationId, table.id)],
);

/** What people of an organization may give to keys of their own. Without a row they make none. */
export const keyPolicies = pgTable('key_policies', {
  organizationId: text('organization_id')
    .primaryKey()
    .references(() => organizations.id, { onDelete: 'cascade' }),
  /** Keys of one person at a time. */
  maxKeys: integer('max_keys').notNull(),
  /** Null: keys may never expire. */
  maxLifetimeSeconds: integer('max_lifetime_seconds'),
  /** Bounds of each key, in the form of `api_keys`. */
  models: text().array(),
  knowledgeBaseIds: text('knowledge_base_ids').array(),
  limits: jsonb().$type<RateLimits>(),
  budget: jsonb().$type<KeyBudget>(),
});
