import { boolean, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { dataSources } from '../../../tables.ts';

const ofDataSource = () =>
  text('data_source_id')
    .notNull()
    .references(() => dataSources.id, { onDelete: 'cascade' });

/** The stored listing of a Drive data source, to which the changes since then are applied. */
export const driveListings = pgTable('drive_listings', {
  dataSourceId: ofDataSource().primaryKey(),
  /** Hash of the config fields that determine what is listed. */
  scope: text().notNull(),
  /** Start page token of each change log: by id of the shared drive, '' for the log of the account. */
  tokens: jsonb().$type<Record<string, string>>().notNull(),
  /** Time of the last complete listing. */
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
