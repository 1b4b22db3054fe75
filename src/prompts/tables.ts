import { boolean, index, integer, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

/** Prompts of the library, personal or shared in the organization. */
export const prompts = pgTable(
  'prompts',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** Id of the user or key that created the prompt. */
    ownerId: text('owner_id').notNull(),
    name: text().notNull(),
    isShared: boolean('is_shared').notNull(),
    /** Number of the newest version. */
    latestVersion: integer('latest_version').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('prompts_by_organization').on(table.organizationId, table.id)],
);

/** Versions of prompts. Rows are immutable. */
export const promptVersions = pgTable(
  'prompt_versions',
  {
    id: text().primaryKey(),
    promptId: text('prompt_id')
      .notNull()
      .references(() => prompts.id, { onDelete: 'cascade' }),
    /** Number of the version, starting at 1. */
    version: integer().notNull(),
    text: text().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [uniqueIndex('prompt_versions_by_number').on(table.promptId, table.version)],
);
