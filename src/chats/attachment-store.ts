import { and, asc, count, eq, sql as expression, sum } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { files } from '../files/tables.ts';
import { documents } from '../knowledge-bases/documents/tables.ts';
import type { JobError } from '../knowledge-bases/jobs/job-error.ts';
import type { OcrProgress } from '../knowledge-bases/jobs/schema.ts';
import { ingestionJobs } from '../knowledge-bases/jobs/tables.ts';
import { dataSources } from '../knowledge-bases/tables.ts';
import { chatAttachments } from './tables.ts';

/** A row of `chat_attachments`. */
export type AttachmentRow = typeof chatAttachments.$inferSelect;

/** Inserts an attachment. */
export async function insertAttachment(sql: Sql, row: AttachmentRow): Promise<void> {
  await sql.insert(chatAttachments).values(row);
}

/** Deletes an attachment. */
export async function deleteAttachmentRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(chatAttachments).where(eq(chatAttachments.id, id));
}

/** Counts the attachments of a chat and sums their bytes. */
export async function measureAttachments(sql: Sql, chatId: string): Promise<{ total: number; bytes: number }> {
  const [row] = await sql
    .select({ total: count(), bytes: sum(files.bytes).mapWith(Number) })
    .from(chatAttachments)
    .innerJoin(files, eq(files.id, chatAttachments.fileId))
    .where(eq(chatAttachments.chatId, chatId));
  return { total: row?.total ?? 0, bytes: row?.bytes ?? 0 };
}

/** Selects the ids of the files of a chat. */
export async function selectAttachedFiles(sql: Sql, chatId: string): Promise<string[]> {
  const { fileId } = chatAttachments;
  const rows = await sql.select({ fileId }).from(chatAttachments).where(eq(chatAttachments.chatId, chatId));
  return rows.map((row) => row.fileId);
}

/** Selects the names of the documents of a chat, oldest first. */
export async function selectDocumentNames(sql: Sql, chatId: string): Promise<string[]> {
  const rows = await sql
    .select({ name: files.filename })
    .from(chatAttachments)
    .innerJoin(files, eq(files.id, chatAttachments.fileId))
    .where(and(eq(chatAttachments.chatId, chatId), expression`${chatAttachments.dataSourceId} is not null`))
    .orderBy(asc(chatAttachments.id));
  return rows.map(({ name }) => name);
}

/** An attachment with its file and the state of its ingestion. */
export type AttachmentState = Awaited<ReturnType<typeof selectAttachments>>[number];

/** Selects an attachment of a chat, or null. */
export async function selectAttachment(sql: Sql, chatId: string, id: string): Promise<AttachmentState | null> {
  const [attachment] = await selectAttachments(sql, chatId, { limit: 1, after: null }, id);
  return attachment ?? null;
}

/** Selects a page of the attachments of a chat, or the one with this id, oldest first. */
export function selectAttachments(sql: Sql, chatId: string, bounds: PageBounds, id?: string) {
  const { isAfter, orderBy } = pageOrder(chatAttachments.id, bounds);
  const ofSource = expression`from ${documents} where ${documents.dataSourceId} = ${dataSources.id}`;
  return sql
    .select({
      row: chatAttachments,
      file: { name: files.filename, bytes: files.bytes, status: files.status, details: files.statusDetails },
      source: { status: dataSources.status, error: dataSources.error },
      isRead: expression<boolean>`exists (select ${ofSource} and ${documents.status} = 'completed')`,
      failure: expression<JobError | null>`(
        select ${documents.error} ${ofSource} and ${documents.status} = 'failed' limit 1)`,
      reading: expression<OcrProgress | null>`(
        select ${ingestionJobs.reading} -> 0 from ${ingestionJobs}
        where ${ingestionJobs.dataSourceId} = ${dataSources.id} and ${ingestionJobs.status} = 'processing' limit 1)`,
    })
    .from(chatAttachments)
    .innerJoin(files, eq(files.id, chatAttachments.fileId))
    .leftJoin(dataSources, eq(dataSources.id, chatAttachments.dataSourceId))
    .where(and(eq(chatAttachments.chatId, chatId), isAfter, id === undefined ? undefined : eq(chatAttachments.id, id)))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}
