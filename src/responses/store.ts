import {
  and,
  arrayContains,
  asc,
  eq,
  sql as expression,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  type SQL,
} from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { onlyCreated } from '../db/only-created.ts';
import type { Caller } from '../lib/caller.ts';
import { isId } from '../lib/ids.ts';
import type { ConversationItem } from './conversation.ts';
import { NO_PROGRESS, type ResponseProgress } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import type { ResponseResource } from './schema.ts';
import { responseEvents, responses } from './tables.ts';

/** A row of `responses`. */
export type ResponseRow = typeof responses.$inferSelect;

/** A stored response is found for exactly this long. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

/**
 * Inserts a response with the conversation before it. `job`: what a background response runs with. `owner`: the chat
 * that it belongs to.
 */
export async function insertResponse(
  sql: Sql,
  { organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>,
  response: ResponseResource,
  {
    conversation,
    job,
    owner = null,
  }: { conversation: readonly ConversationItem[]; job?: object; owner?: string | null },
): Promise<void> {
  await sql.insert(responses).values({
    id: response.id,
    organizationId,
    createdBy: keyId,
    status: response.status,
    response: JSON.stringify(response),
    conversation: JSON.stringify(conversation),
    itemIds: response.output.map(({ id }) => id),
    owner,
    createdAt: new Date(response.created_at * 1000),
    ...(job !== undefined && { job: JSON.stringify(job) }),
  });
}

/** The organization's response, or null when it is unknown or has expired. */
export async function selectResponse(
  sql: Sql,
  organizationId: string,
  id: string,
  now: Date,
): Promise<ResponseRow | null> {
  if (!isId('response', id)) return null;
  const [row] = await sql
    .select()
    .from(responses)
    .where(and(eq(responses.id, id), isStored(organizationId, now)));
  return row ?? null;
}

/** The organization's response that has an output item of this id, or null. */
export async function selectResponseWithItem(
  sql: Sql,
  organizationId: string,
  itemId: string,
  now: Date,
): Promise<Pick<ResponseRow, 'response'> | null> {
  const [row] = await sql
    .select({ response: responses.response })
    .from(responses)
    .where(and(arrayContains(responses.itemIds, [itemId]), isStored(organizationId, now)));
  return row ?? null;
}

/** Deletes the organization's response with its events. Returns whether there was one. */
export async function deleteResponseRow(sql: Sql, organizationId: string, id: string, now: Date): Promise<boolean> {
  if (!isId('response', id)) return false;
  const deleted = await sql
    .delete(responses)
    .where(and(eq(responses.id, id), isStored(organizationId, now)))
    .returning({ id: responses.id });
  return deleted.length > 0;
}

/** Deletes all responses of an organization with their events. Returns the ids of those that had not ended. */
export async function deleteResponseRows(sql: Sql, organizationId: string): Promise<string[]> {
  return deleteReturningRunning(sql, eq(responses.organizationId, organizationId));
}

async function deleteReturningRunning(sql: Sql, condition: SQL | undefined): Promise<string[]> {
  const deleted = await sql
    .delete(responses)
    .where(condition)
    .returning({ id: responses.id, status: responses.status });
  return deleted.flatMap(({ id, status }) => ((RUNNING as readonly string[]).includes(status) ? [id] : []));
}

/** Deletes all expired responses with their events, by range of their age. Owned responses lose their events only. */
export async function deleteExpiredResponses(sql: Sql, now: Date): Promise<void> {
  const isExpired = lte(responses.createdAt, expiryBound(now));
  await sql.delete(responses).where(and(isExpired, isNull(responses.owner)));
  const owned = sql
    .select({ id: responses.id })
    .from(responses)
    .where(and(isExpired, isNotNull(responses.owner)));
  await sql.delete(responseEvents).where(inArray(responseEvents.responseId, owned));
}

/** The responses of an owner with these ids. */
export async function selectOwnedResponses(sql: Sql, owner: string, ids: readonly string[]): Promise<ResponseRow[]> {
  if (ids.length === 0) return [];
  return sql.select().from(responses).where(isOwned(owner, ids));
}

/** Deletes the responses of an owner with these ids, and their events. Returns the ids of those that had not ended. */
export async function deleteOwnedResponses(sql: Sql, owner: string, ids: readonly string[]): Promise<string[]> {
  return ids.length === 0 ? [] : deleteReturningRunning(sql, isOwned(owner, ids));
}

const isOwned = (owner: string, ids: readonly string[]) =>
  and(eq(responses.owner, owner), inArray(responses.id, [...ids]));

function isStored(organizationId: string, now: Date) {
  return and(
    eq(responses.organizationId, organizationId),
    isNull(responses.owner),
    gt(responses.createdAt, expiryBound(now)),
    onlyCreated(responses.createdBy),
  );
}

/** Responses created at or before this time have expired, and so have conversations last used then. */
export function expiryBound(now: Date): Date {
  return new Date(now.getTime() - RETENTION_MS);
}

/** Statuses of a background response that has not ended. */
const RUNNING = ['queued', 'in_progress'] as const;

/** Marks a background response as running; returns null when it has ended or was deleted. */
export async function beginResponseRun(sql: Sql, id: string): Promise<ResponseRow | null> {
  const [row] = await sql
    .update(responses)
    .set({ status: 'in_progress', attempts: expression`${responses.attempts} + 1` })
    .where(isRunning(id))
    .returning();
  return row ?? null;
}

/** Locks a response until the end of the transaction; returns null if it has ended or was deleted. */
export async function lockRunning(sql: Sql, id: string): Promise<ResponseRow | null> {
  const [row] = await sql.select().from(responses).where(isRunning(id)).for('update');
  return row ?? null;
}

/**
 * Stores the end of a background response. An owned one does not keep the conversation before it, because its owner has
 * the responses of that.
 */
export async function updateEnded(sql: Sql, response: ResponseResource, owner: string | null): Promise<void> {
  const { id, status, output } = response;
  const itemIds = output.map((item) => item.id);
  const texts = output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : []));
  // PostgreSQL has no NUL in texts.
  const answerText = texts.join('').replaceAll('\u0000', '');
  await sql
    .update(responses)
    .set({
      status,
      response: JSON.stringify(response),
      itemIds,
      job: null,
      ...(owner !== null && { answerText, conversation: '[]', endedAt: expression`now()` }),
    })
    .where(isRunning(id));
}

/** Status of a response, or null when it was deleted. */
export async function selectStatus(sql: Sql, id: string): Promise<ResponseRow['status'] | null> {
  const [row] = await sql.select({ status: responses.status }).from(responses).where(eq(responses.id, id));
  return row?.status ?? null;
}

/** Appends events, which must not be empty. */
export async function insertEvents(sql: Sql, responseId: string, events: readonly ResponseEvent[], progress: object) {
  const first = events[0]?.sequence_number ?? 0;
  await sql.insert(responseEvents).values({
    responseId,
    first,
    last: first + events.length - 1,
    events: JSON.stringify(events),
    progress: JSON.stringify(progress),
  });
}

/** Events after a sequence number, and the progress after them. */
export async function selectResponseEvents(
  sql: Sql,
  responseId: string,
  after: number,
): Promise<{ events: ResponseEvent[]; progress: ResponseProgress }> {
  const groups = await sql
    .select()
    .from(responseEvents)
    .where(and(eq(responseEvents.responseId, responseId), gt(responseEvents.last, after)))
    .orderBy(asc(responseEvents.first));
  const events = groups.flatMap((group) => JSON.parse(group.events) as ResponseEvent[]);
  const last = groups.at(-1);
  return {
    events: events.filter((event) => event.sequence_number > after),
    progress: last === undefined ? NO_PROGRESS : (JSON.parse(last.progress) as ResponseProgress),
  };
}

function isRunning(id: string) {
  return and(eq(responses.id, id), inArray(responses.status, [...RUNNING]));
}
