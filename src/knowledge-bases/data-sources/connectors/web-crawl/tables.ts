import { sql } from 'drizzle-orm';
import { bigserial, customType, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { JobErrorCode } from '../../../../extraction/ingestion-error.ts';
import { dataSources } from '../../../tables.ts';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * Frontier of web crawls: one row for each known URL of a data source. Rows of the current job are its frontier and its
 * results; rows of the previous job hold what a conditional request needs.
 */
export const crawlPages = pgTable(
  'crawl_pages',
  {
    dataSourceId: text('data_source_id')
      .notNull()
      .references(() => dataSources.id, { onDelete: 'cascade' }),
    /** Normalized URL. */
    url: text().notNull(),
    /** The last job that queued the URL. */
    jobId: text('job_id').notNull(),
    /** Order of discovery within a depth. */
    position: bigserial({ mode: 'number' }).notNull(),
    /** Link distance from a start URL. */
    depth: integer().notNull(),
    /** Redirects that led here. */
    redirects: integer().notNull(),
    /** `stored` and `failed` pages are items of the data source. */
    state: text({ enum: ['queued', 'stored', 'duplicate', 'skipped', 'failed'] }).notNull(),
    /** Canonical URL: the key of the item. Null until the page was read. */
    itemKey: text('item_key'),
    /** SHA-256 of the visible text, or of the bytes of other formats. */
    fingerprint: text(),
    name: text(),
    mediaType: text('media_type'),
    etag: text(),
    lastModified: text('last_modified'),
    /** Links of the page to the hosts of the crawl. */
    links: jsonb().$type<string[]>().notNull().default([]),
    /** Content until it was ingested. */
    body: bytea(),
    error: jsonb().$type<{ code: JobErrorCode; message: string }>(),
  },
  (table) => [
    primaryKey({ columns: [table.dataSourceId, table.url] }),
    index('crawl_pages_by_state').on(table.dataSourceId, table.jobId, table.state, table.depth, table.position),
    index('crawl_pages_by_item_key').on(table.dataSourceId, table.itemKey),
    index('crawl_pages_by_fingerprint').on(table.dataSourceId, table.fingerprint),
    index('crawl_pages_with_body').on(table.dataSourceId, table.position).where(sql`${table.body} is not null`),
  ],
);
