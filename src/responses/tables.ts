import { index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** Stored responses. Rows older than 24 hours are not found any more, and purged by range. */
export const responses = pgTable(
  'responses',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
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
