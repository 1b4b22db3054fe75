import { sql } from 'drizzle-orm';
import {
  bigserial,
  boolean,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';
import type { CrawlPage } from '../../connectors/crawl-store.ts';
import type { DriveListing } from '../../connectors/drive-store.ts';
import { dataSources } from '../tables.ts';

const ofDataSource = () =>
  text('data_source_id')
    .notNull()
    .references(() => dataSources.id, { onDelete: 'cascade' });

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * Frontier of web crawls: one row for each known URL of a data source. Rows of the current job are its frontier and its
 * results; rows of the previous job hold what a conditional request needs. `CrawlPage` describes the columns.
 */
export const crawlPages = pgTable(
  'crawl_pages',
  {
    dataSourceId: ofDataSource(),
    url: text().notNull(),
    /** The last job that queued the URL. */
    jobId: text('job_id').notNull(),
    position: bigserial({ mode: 'number' }).notNull(),
    depth: integer().notNull(),
    redirects: integer().notNull(),
    state: text({ enum: ['queued', 'stored', 'duplicate', 'skipped', 'failed'] }).notNull(),
    itemKey: text('item_key'),
    fingerprint: text(),
    name: text(),
    mediaType: text('media_type'),
    etag: text(),
    lastModified: text('last_modified'),
    links: jsonb().$type<string[]>().notNull().default([]),
    /** Content until it was ingested. */
    body: bytea(),
    error: jsonb().$type<CrawlPage['error']>(),
  },
  (table) => [
    primaryKey({ columns: [table.dataSourceId, table.url] }),
    index('crawl_pages_by_state').on(table.dataSourceId, table.jobId, table.state, table.depth, table.position),
    index('crawl_pages_by_item_key').on(table.dataSourceId, table.itemKey),
    index('crawl_pages_by_fingerprint').on(table.dataSourceId, table.fingerprint),
    index('crawl_pages_with_body').on(table.dataSourceId, table.position).where(sql`${table.body} is not null`),
  ],
);

/** The stored listing of a Drive data source; `DriveListing` describes the columns. */
export const driveListings = pgTable('drive_listings', {
  dataSourceId: ofDataSource().primaryKey(),
  scope: text().notNull(),
  tokens: jsonb().$type<DriveListing['tokens']>().notNull(),
  listedAt: timestamp('listed_at', { withTimezone: true }).notNull(),
});

/** Files, folders and shortcuts of a stored listing. */
export const driveFiles = pgTable(
  'drive_files',
  {
    dataSourceId: ofDataSource(),
    fileId: text('file_id').notNull(),
    /** Null for items that are shared without their folder. */
    parentId: text('parent_id'),
    name: text().notNull(),
    mimeType: text('mime_type').notNull(),
    md5Checksum: text('md5_checksum'),
    modifiedTime: text('modified_time').notNull(),
    webViewLink: text('web_view_link'),
    driveId: text('drive_id'),
    targetId: text('target_id'),
    targetMimeType: text('target_mime_type'),
    /** Whether the content of a folder is in the listing. */
    isListed: boolean('is_listed').notNull(),
  },
  (table) => [primaryKey({ columns: [table.dataSourceId, table.fileId] })],
);
