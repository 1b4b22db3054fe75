import { bigint, boolean, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** Files of organizations. Their bytes lie in the blob store, whole, before the row is there. */
export const files = pgTable(
  'files',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    filename: text().notNull(),
    purpose: text({ enum: ['batch', 'knowledge-base', 'fine-tune'] }).notNull(),
    bytes: bigint({ mode: 'number' }).notNull(),
    /** Of the content, hexadecimal. */
    sha256: text().notNull(),
    /** The content's key in the blob store. */
    blobKey: text('blob_key').notNull(),
    status: text({ enum: ['uploaded', 'processed', 'error'] }).notNull(),
    statusDetails: text('status_details'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    index('files_by_organization').on(table.organizationId, table.id),
    index('files_by_purpose').on(table.organizationId, table.purpose, table.id),
  ],
);

/** Who needs a file now: written by what runs on it, such as a batch or an ingestion job, and removed when that ends. */
export const fileUses = pgTable(
  'file_uses',
  {
    fileId: text('file_id')
      .notNull()
      .references(() => files.id),
    /** The id of what runs. */
    userId: text('user_id').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.fileId, table.userId] }), index('file_uses_by_user').on(table.userId)],
);

/**
 * Keys of the blob store that no file has: bytes on their way in, and those of deleted files on their way out. A row is
 * there before its bytes are and goes after they do, so whatever a crash leaves behind is listed here.
 */
export const looseBlobs = pgTable(
  'loose_blobs',
  {
    blobKey: text('blob_key').primaryKey(),
    /** Set before its bytes are removed: from then on no file can have them. */
    isDropped: boolean('is_dropped').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('loose_blobs_by_age').on(table.createdAt)],
);
