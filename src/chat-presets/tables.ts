import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';
import type { ChatPresetParameters, ChatPresetTool } from './schema.ts';

/** Presets of chats, published by the owners of an organization. */
export const chatPresets = pgTable(
  'chat_presets',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    name: text().notNull(),
    description: text(),
    /** Null if the user chooses the model. */
    model: text(),
    instructions: text(),
    knowledgeBaseIds: jsonb('knowledge_base_ids').$type<string[]>().notNull(),
    tools: jsonb().$type<ChatPresetTool[]>().notNull(),
    parameters: jsonb().$type<ChatPresetParameters>().notNull(),
    isPublished: boolean('is_published').notNull(),
    /** Whether new chats use the preset unless they name another one. */
    isDefault: boolean('is_default').notNull(),
    /** Position in the list, starting at 0. */
    position: integer().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('chat_presets_by_position').on(table.organizationId, table.position, table.id),
    uniqueIndex('chat_presets_default').on(table.organizationId).where(sql`${table.isDefault}`),
  ],
);
