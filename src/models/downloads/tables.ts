import { bigint, boolean, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** Pulls over the API of all processes: their own reports, every second while they run. */
export const modelPulls = pgTable(
  'model_pulls',
  {
    /** Host and data folder that get the file. */
    location: text().notNull(),
    name: text().notNull(),
    from: text('source').notNull(),
    state: text({ enum: ['pulling', 'completed', 'failed', 'cancelled'] }).notNull(),
    receivedBytes: bigint('received_bytes', { mode: 'number' }).notNull(),
    totalBytes: bigint('total_bytes', { mode: 'number' }),
    detail: text(),
    startedAt: timestamp('started_at', { withTimezone: true }).notNull(),
    endedAt: timestamp('ended_at', { withTimezone: true }),
    /** Time of the last report, by the clock of the database. */
    seenAt: timestamp('seen_at', { withTimezone: true }).notNull().defaultNow(),
    /** Set by any process; the pulling one notices it with its next report. */
    cancelRequested: boolean('cancel_requested').notNull().default(false),
  },
  ({ location, name }) => [primaryKey({ columns: [location, name] })],
);
