import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { organizations } from '../accounts/tables.ts';

/** Chats of people, each visible to its owner only. */
export const chats = pgTable(
  'chats',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** The user, or the key, that the chat belongs to. */
    ownerId: text('owner_id').notNull(),
    /** Empty until the first message, which gives its first words. */
    title: text().notNull(),
    isPinned: boolean('is_pinned').notNull(),
    folder: text(),
    /** The last message of the branch that is shown. */
    currentMessageId: text('current_message_id'),
    /** Model and knowledge bases of the last message. */
    model: text(),
    knowledgeBaseIds: jsonb('knowledge_base_ids').$type<string[]>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** When the last message was sent. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('chats_by_owner').on(table.organizationId, table.ownerId, table.isPinned, table.updatedAt, table.id),
    index('chats_by_update').on(table.organizationId, table.updatedAt),
  ],
);

/** Settings of the chats of an organization; those without a row have the defaults. */
export const chatSettings = pgTable('chat_settings', {
  organizationId: text('organization_id')
    .primaryKey()
    .references(() => organizations.id, { onDelete: 'cascade' }),
  /** Chats are deleted this many days after their last message; null: never. */
  retentionDays: integer('retention_days'),
});

/**
 * Messages of chats. The id is that of the response with the answer, whose row has the chat as its owner. Messages with
 * one parent are branches.
 */
export const chatMessages = pgTable(
  'chat_messages',
  {
    id: text().primaryKey(),
    chatId: text('chat_id')
      .notNull()
      .references(() => chats.id, { onDelete: 'cascade' }),
    parentId: text('parent_id'),
    text: text().notNull(),
    /** Exact time, from which `ended_at` of the response is measured. */
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
  },
  (table) => [index('chat_messages_by_chat').on(table.chatId, table.id)],
);
