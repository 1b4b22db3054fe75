import { index, integer, pgTable, primaryKey, text, timestamp, unique } from 'drizzle-orm/pg-core';

/** Stored responses. Rows older than 24 hours are not found any more, and purged by range. */
export const responses = pgTable(
  'responses',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** The key or user that created it; null before version 0.2. A key limited to knowledge bases sees only its own. */
    createdBy: text('created_by'),
    status: text({ enum: ['completed', 'incomplete', 'failed', 'queued', 'in_progress', 'cancelled'] }).notNull(),
    /** The response as JSON. While a background response runs, without what its events add. */
    response: text().notNull(),
    /** The conversation before the output of the response, as JSON: all that a response that continues it reads. */
    conversation: text().notNull(),
    /** Ids of the output items, for references in later requests. */
    itemIds: text('item_ids').array().notNull(),
    /** Of a background response: request and caller as JSON, so that any process can run it. */
    job: text(),
    /** Runs of the job that have begun. */
    attempts: integer().notNull().default(0),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /**
     * The chat that the response belongs to: it is found through the chat only, and does not expire. Null for responses
     * of the Responses API.
     */
    owner: text(),
    /** Text of the answer of an owned response that has ended, for searches. */
    answerText: text('answer_text'),
    /** When an owned response ended. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (table) => [index('responses_by_age').on(table.createdAt), index('responses_by_item').using('gin', table.itemIds)],
);

/** Events of background responses, in groups. */
export const responseEvents = pgTable(
  'response_events',
  {
    responseId: text('response_id')
      .notNull()
      .references(() => responses.id, { onDelete: 'cascade' }),
    /** Sequence numbers of the first and the last event. */
    first: integer().notNull(),
    last: integer().notNull(),
    /** JSON array. */
    events: text().notNull(),
    /** Progress after the last event, as JSON. */
    progress: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.responseId, table.first] })],
);

/** Conversations. Those that have not been used for 24 hours are not found any more, and purged. */
export const conversations = pgTable(
  'conversations',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** As in `responses`. */
    createdBy: text('created_by'),
    /** JSON object. */
    metadata: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** When items or metadata were last written. */
    usedAt: timestamp('used_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('conversations_by_use').on(table.usedAt),
    index('conversations_by_organization').on(table.organizationId),
  ],
);

/** Items of conversations. */
export const conversationItems = pgTable(
  'conversation_items',
  {
    conversationId: text('conversation_id')
      .notNull()
      .references(() => conversations.id, { onDelete: 'cascade' }),
    /** Increases in the order of the items. */
    position: integer().notNull(),
    itemId: text('item_id').notNull(),
    /** JSON, in the form in which responses store their conversation. */
    item: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.conversationId, table.position] }),
    unique('conversation_items_by_id').on(table.conversationId, table.itemId),
  ],
);
