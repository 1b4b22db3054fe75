import { and, eq, inArray } from 'drizzle-orm';
import type { DriveListing, DriveStore, TreeFile } from '../../connectors/drive-store.ts';
import type { Sql } from '../../db/db.ts';
import { driveFiles, driveListings } from './tables.ts';

/** Rows per statement. */
const ROWS_PER_STATEMENT = 1000;

/** Creates the store of the listing of one data source, in the tables `drive_listings` and `drive_files`. */
export function createDriveStore(sql: Sql, sourceId: string): DriveStore {
  return {
    select: () => selectListing(sql, sourceId),
    save: (listing, files) => saveListing(sql, sourceId, listing, files),
  };
}

async function selectListing(sql: Sql, sourceId: string): ReturnType<DriveStore['select']> {
  const [listing] = await sql.select().from(driveListings).where(eq(driveListings.dataSourceId, sourceId));
  if (listing === undefined) return null;
  const rows = await sql.select().from(driveFiles).where(eq(driveFiles.dataSourceId, sourceId));
  return { ...listing, files: rows.map(toFile) };
}

async function saveListing(
  sql: Sql,
  sourceId: string,
  listing: DriveListing,
  { before, files }: Parameters<DriveStore['save']>[1],
): Promise<void> {
  const storedRows = new Map(before.map((file) => [file.id, JSON.stringify(toRow(sourceId, file))]));
  const changed = files.filter((file) => storedRows.get(file.id) !== JSON.stringify(toRow(sourceId, file)));
  const current = new Set(files.map(({ id }) => id));
  const gone = [...storedRows.keys()].filter((id) => !current.has(id));
  // A changed file is deleted and inserted again.
  const replaced = changed.map(({ id }) => id).filter((id) => storedRows.has(id));
  await sql.transaction(async (transaction) => {
    for (const ids of inGroups([...gone, ...replaced])) {
      const isGone = and(eq(driveFiles.dataSourceId, sourceId), inArray(driveFiles.fileId, ids));
      await transaction.delete(driveFiles).where(isGone);
    }
    for (const group of inGroups(changed)) {
      await transaction.insert(driveFiles).values(group.map((file) => toRow(sourceId, file)));
    }
    await transaction
      .insert(driveListings)
      .values({ dataSourceId: sourceId, ...listing })
      .onConflictDoUpdate({ target: driveListings.dataSourceId, set: listing });
  });
}

function inGroups<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / ROWS_PER_STATEMENT);
  return Array.from({ length: count }, (_, i) => items.slice(i * ROWS_PER_STATEMENT, (i + 1) * ROWS_PER_STATEMENT));
}

function toRow(dataSourceId: string, file: TreeFile): typeof driveFiles.$inferInsert {
  return {
    dataSourceId,
    fileId: file.id,
    parentId: file.parents?.[0] ?? null,
    // PostgreSQL does not accept NUL.
    name: file.name.replaceAll('\0', ''),
    mimeType: file.mimeType,
    md5Checksum: file.md5Checksum ?? null,
    modifiedTime: file.modifiedTime,
    webViewLink: file.webViewLink ?? null,
    driveId: file.driveId ?? null,
    targetId: file.shortcutDetails?.targetId ?? null,
    targetMimeType: file.shortcutDetails?.targetMimeType ?? null,
    isListed: file.isListed,
  };
}

function toFile(row: typeof driveFiles.$inferSelect): TreeFile {
  const { parentId, md5Checksum, webViewLink, driveId, targetId, targetMimeType } = row;
  const shortcutDetails = targetId === null ? null : { targetId, ...(targetMimeType !== null && { targetMimeType }) };
  return {
    id: row.fileId,
    name: row.name,
    mimeType: row.mimeType,
    modifiedTime: row.modifiedTime,
    isListed: row.isListed,
    ...(parentId !== null && { parents: [parentId] }),
    ...(md5Checksum !== null && { md5Checksum }),
    ...(webViewLink !== null && { webViewLink }),
    ...(driveId !== null && { driveId }),
    ...(shortcutDetails !== null && { shortcutDetails }),
  };
}
