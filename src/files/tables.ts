import { isNotNull } from 'drizzle-orm';
import { bigint, boolean, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** Files. A row is inserted after its bytes are complete in the blob store. */
export const files = pgTable(
  'files',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** The key or user that uploaded it, or created the batch that wrote it; null before version 0.2. */
    createdBy: text('created_by'),
    /** Id of the user or key whose chat owns the file. Only this caller finds it. Null if it is shared. */
    privateTo: text('private_to'),
    filename: text().notNull(),
    purpose: text({ enum: ['batch', 'knowledge-base', 'fine-tune', 'archive'] }).notNull(),
    bytes: bigint({ mode: 'number' }).notNull(),
    /** SHA-256 of the content, hexadecimal. */
    sha256: text().notNull(),
    /** Key of the content in the blob store. */
    blobKey: text('blob_key').notNull(),
    /** `unchecked`: being checked, shown as `uploaded`. `uploaded`: valid and not used yet, shown as `processed`. */
    status: text({ enum: ['unchecked', 'uploaded', 'processed', 'error'] }).notNull(),
    statusDetails: text('status_details'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** Null: the file is stored until it is deleted. */
    expiresAt: timestamp('expires_at', { withTimezone: true }),
  },
  (table) => [
    index('files_by_expiry').on(table.expiresAt).concurrently().where(isNotNull(table.expiresAt)),
    index('files_by_organization').on(table.organizationId, table.id),
    index('files_by_purpose').on(table.organizationId, table.purpose, table.id),
  ],
);

/** Uses of files by running batches and ingestion jobs, which insert and delete the rows. */
export const fileUses = pgTable(
  'file_uses',
  {
    fileId: text('file_id')
      .notNull()
      .references(() => files.id),
    /** Id of the batch or job. */
    userId: text('user_id').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.fileId, table.userId] }), index('file_uses_by_user').on(table.userId)],
);

/**
 * Keys of blobs without a file: uploads in progress and deleted files. A row is inserted before its bytes are written
 * and deleted after they are, so it lists everything that a crash leaves behind.
 */
export const orphanedBlobs = pgTable(
  'loose_blobs',
  {
    blobKey: text('blob_key').primaryKey(),
    /** Set before the bytes are deleted; from then on the key cannot be committed as a file. */
    isDropped: boolean('is_dropped').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('loose_blobs_by_age').on(table.createdAt)],
);
