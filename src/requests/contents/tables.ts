import { boolean, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { organizations } from '../../accounts/tables.ts';
import type { Detector } from './redact.ts';

/** Recording settings of organizations. Recording is disabled for organizations without a row. */
export const requestRecordings = pgTable('request_recordings', {
  organizationId: text('organization_id')
    .primaryKey()
    .references(() => organizations.id, { onDelete: 'cascade' }),
  isEnabled: boolean('is_enabled').notNull(),
  /** Retention of contents in days. */
  retentionDays: integer('retention_days').notNull(),
  /** Detectors of sensitive data that is redacted. */
  detectors: jsonb().$type<Detector[]>().notNull(),
  /** Regular expressions whose matches are redacted. */
  patterns: jsonb().$type<string[]>().notNull(),
});

/** Redacted contents of requests, partitioned like `request_log`. */
export const requestContents = pgTable(
  'request_contents',
  {
    /** Id in `request_log`. */
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    keyId: text('key_id').notNull(),
    /** Body as JSON; null if it was not recorded. */
    prompt: text(),
    /** Output items as JSON. */
    answer: text().notNull(),
    isTruncated: boolean('is_truncated').notNull(),
  },
  (table) => [index('request_contents_by_organization').on(table.organizationId, table.id)],
);
