import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { organizations } from '../accounts/tables.ts';

/** A file that was sent with a message. */
export interface MessageAttachment {
  id: string;
  fileId: string;
  kind: 'document' | 'image';
  name: string;
  bytes: number;
}

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
    /** Whether a person or a model has set the title. Models do not replace a final title. */
    isTitleFinal: boolean('is_title_final').notNull().default(false),
    isPinned: boolean('is_pinned').notNull(),
    folder: text(),
    /** The last message of the branch that is shown. */
    currentMessageId: text('current_message_id'),
    /** Model and knowledge bases of the last message. */
    model: text(),
    knowledgeBaseIds: jsonb('knowledge_base_ids').$type<string[]>().notNull(),
    /** Private knowledge base of the attached documents; null before the first document. */
    attachmentBaseId: text('attachment_base_id'),
    /** Preset of the last message, or of a chat without messages. It may have been deleted. */
    presetId: text('preset_id'),
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
  /** Days after the last message until chats are deleted. Null: never. */
  retentionDays: integer('retention_days'),
  /** Whether models write titles of chats. */
  hasModelTitles: boolean('has_model_titles').notNull().default(true),
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
    /** Files that were sent with the message, in their state at that time. */
    attachments: jsonb().$type<MessageAttachment[]>().notNull().default([]),
    /** Exact time, from which `ended_at` of the response is measured. */
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`),
  },
  (table) => [index('chat_messages_by_chat').on(table.chatId, table.id)],
);

/** Files of chats. Deleting an attachment also deletes its file row and, for documents, its data source. */
export const chatAttachments = pgTable(
  'chat_attachments',
  {
    id: text().primaryKey(),
    chatId: text('chat_id')
      .notNull()
      .references(() => chats.id, { onDelete: 'cascade' }),
    fileId: text('file_id').notNull(),
    /** Data source of a document; null for an image. */
    dataSourceId: text('data_source_id'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('chat_attachments_by_chat').on(table.chatId, table.id)],
);

/** Links to chats for members of the organization, at most one per chat. */
export const chatShares = pgTable('chat_shares', {
  /** Random id, which is the secret of the link. */
  id: text().primaryKey(),
  chatId: text('chat_id')
    .notNull()
    .unique()
    .references(() => chats.id, { onDelete: 'cascade' }),
  /** Title and last message of the branch at the time of sharing. Messages are immutable. */
  title: text().notNull(),
  messageId: text('message_id').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
});

/** Ratings of answers by the owners of their chats. */
export const chatFeedback = pgTable(
  'chat_feedback',
  {
    messageId: text('message_id')
      .primaryKey()
      .references(() => chatMessages.id, { onDelete: 'cascade' }),
    organizationId: text('organization_id').notNull(),
    rating: text({ enum: ['up', 'down'] }).notNull(),
    comment: text(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('chat_feedback_by_organization').on(table.organizationId, table.messageId)],
);
