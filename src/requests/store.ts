import { and, asc, desc, eq, gt, gte, lt, lte, or, type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { minIdAt } from '../lib/ids.ts';
import { requestLog } from './tables.ts';

/** A row of the request log. */
export type RequestRow = typeof requestLog.$inferSelect;

/** Which rows to select, and their order. Absent conditions are not checked. */
export interface RequestFilter {
  /** Null: all organizations. */
  organizationId: string | null;
  /** Milliseconds since 1970; `until` is exclusive. */
  from?: number | undefined;
  until?: number | undefined;
  /** Statuses from `min` to `max`. */
  status?: { min: number; max: number } | undefined;
  model?: string | undefined;
  keyId?: string | undefined;
  route?: string | undefined;
  guardrail?: 'passed' | 'flagged' | 'blocked' | undefined;
  isCacheHit?: boolean | undefined;
  minDurationMs?: number | undefined;
  /** A request id. */
  id?: string | undefined;
  /** Part of the code or message of an error. */
  errorText?: string | undefined;
  order: 'asc' | 'desc';
  after: string | null;
  limit: number;
}

/** Statuses of errors. A literal, so that the partial index serves it with any parameters. */
const IS_ERROR = sql`${requestLog.status} >= 400`;

/**
 * Rows that one page reads at most, when they are next to each other, and when an index selects scattered ones: at most
 * a second of one core. Conditions that few rows satisfy would otherwise read the whole log.
 */
const MAX_ADJACENT_ROWS = 200_000;
const MAX_SCATTERED_ROWS = 20_000;

/** Rows of a page, and where its reading ended without all of them; null when it read to the end or found enough. */
export interface RequestPage {
  rows: RequestRow[];
  endedAt: string | null;
}

/** Selects up to `limit + 1` rows by id, which is the order of the requests' start. */
export async function selectRequests(database: Sql, filter: RequestFilter): Promise<RequestPage> {
  const { where, isScattered } = indexedConditions(filter);
  const maxRows = isScattered ? MAX_SCATTERED_ROWS : MAX_ADJACENT_ROWS;
  const byId = filter.order === 'desc' ? desc(requestLog.id) : asc(requestLog.id);
  const read = database.select().from(requestLog).where(where).orderBy(byId).limit(maxRows).as('request_log');
  const rows = await database
    .select()
    .from(read)
    .where(otherConditions(filter))
    .orderBy(byId)
    .limit(filter.limit + 1);
  if (rows.length > filter.limit) return { rows, endedAt: null };
  const lastRead = database.select({ id: requestLog.id }).from(requestLog).where(where).orderBy(byId);
  const [last] = await lastRead.offset(maxRows - 1).limit(1);
  return { rows, endedAt: last?.id ?? null };
}

/** Conditions that an index serves, and whether it selects rows that are far from each other. */
function indexedConditions(filter: RequestFilter): { where: SQL | undefined; isScattered: boolean } {
  const { id } = requestLog;
  const { order, after, from, until, status, errorText } = filter;
  const isError = (status !== undefined && status.min >= 400) || errorText !== undefined;
  const where = and(
    filter.organizationId === null ? undefined : eq(requestLog.organizationId, filter.organizationId),
    after === null ? undefined : order === 'desc' ? lt(id, after) : gt(id, after),
    from === undefined ? undefined : gte(id, minIdAt('request', from)),
    until === undefined ? undefined : lt(id, minIdAt('request', until)),
    filter.id === undefined ? undefined : eq(id, filter.id),
    filter.keyId === undefined ? undefined : eq(requestLog.keyId, filter.keyId),
    isError ? IS_ERROR : undefined,
  );
  return { where, isScattered: isError || filter.keyId !== undefined };
}

function otherConditions(filter: RequestFilter): SQL | undefined {
  const { status, errorText } = filter;
  const { errorCode, errorMessage } = requestLog;
  return and(
    status === undefined ? undefined : and(gte(requestLog.status, status.min), lte(requestLog.status, status.max)),
    filter.model === undefined ? undefined : eq(requestLog.model, filter.model),
    filter.route === undefined ? undefined : eq(requestLog.route, filter.route),
    filter.guardrail === undefined ? undefined : eq(requestLog.guardrail, filter.guardrail),
    filter.isCacheHit === undefined ? undefined : eq(requestLog.isCacheHit, filter.isCacheHit),
    filter.minDurationMs === undefined ? undefined : gte(requestLog.durationMs, filter.minDurationMs),
    errorText === undefined ? undefined : or(contains(errorCode, errorText), contains(errorMessage, errorText)),
  );
}

const contains = (column: typeof requestLog.errorCode | typeof requestLog.errorMessage, text: string): SQL =>
  sql`strpos(lower(${column}), lower(${text})) > 0`;

/** Selects one row; of any organization when `organizationId` is null. */
export async function selectRequest(
  database: Sql,
  organizationId: string | null,
  requestId: string,
): Promise<RequestRow | null> {
  const filter = { organizationId, id: requestId, order: 'desc', after: null, limit: 1 } as const;
  return (await selectRequests(database, filter)).rows[0] ?? null;
}

/** Deletes the rows of an organization. */
export async function deleteRequestsOfOrganization(database: Sql, organizationId: string): Promise<void> {
  await database.delete(requestLog).where(eq(requestLog.organizationId, organizationId));
}
