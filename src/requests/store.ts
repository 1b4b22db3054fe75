import { and, asc, desc, eq, getTableColumns, gt, gte, lt, lte, or, type SQL, sql } from 'drizzle-orm';
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
  /** Ids of keys and users to match. */
  keyIds?: readonly string[] | undefined;
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
 * Maximum number of rows that a page scans: adjacent rows, and rows that an index selects from distant places. Bounds a
 * page to about a second of CPU; otherwise, conditions that match few rows would scan the whole log.
 */
const MAX_ADJACENT_ROWS = 200_000;
const MAX_SPARSE_ROWS = 20_000;

/** Rows of a page. `endedAt` is the last scanned id if the scan reached its limit; otherwise null. */
export interface RequestPage {
  rows: RequestRow[];
  endedAt: string | null;
}

/**
 * Selects up to `limit + 1` rows that match at least one filter, ordered by id (start of the request). All filters have
 * the same `order`, `after` and `limit`.
 */
export async function selectRequests(database: Sql, filters: readonly RequestFilter[]): Promise<RequestPage> {
  const pages = await Promise.all(filters.map((filter) => selectPage(database, filter, filters.length)));
  const [first = { rows: [], endedAt: null }, ...others] = pages;
  const [{ order = 'desc', limit = 0 } = {}] = filters;
  if (others.length === 0) return first;
  const compare = (a: string, b: string) => (isBefore(order, a, b) ? -1 : 1);
  const ends = pages.flatMap(({ endedAt }) => endedAt ?? []).sort(compare);
  const [endedAt = null] = ends;
  const byId = new Map(pages.flatMap(({ rows }) => rows).map((row) => [row.id, row]));
  const rows = [...byId.values()]
    .filter(({ id }) => endedAt === null || !isBefore(order, endedAt, id))
    .sort((a, b) => compare(a.id, b.id))
    .slice(0, limit + 1);
  return { rows, endedAt: rows.length > limit ? null : endedAt };
}

/** `pages` is the number of queries that share the limit of scanned rows. */
async function selectPage(database: Sql, filter: RequestFilter, pages: number): Promise<RequestPage> {
  const { order, limit } = filter;
  const others = otherConditions(filter);
  const byId = order === 'desc' ? desc(requestLog.id) : asc(requestLog.id);
  const reading = { ...readRows(filter, others, pages), byId };
  const rows = await database
    .select(FIELDS)
    .from(indexScan({ ...reading, range: sql`limit ${reading.maxRows}` }))
    .where(others)
    .orderBy(byId)
    .limit(limit + 1);
  if (rows.length > limit) return { rows, endedAt: null };
  const range = sql`offset ${reading.maxRows - 1} limit 1`;
  const lastRead = database.select({ id: FIELDS.id }).from(indexScan({ ...reading, range }));
  const [{ id: endedAt = null } = {}] = await lastRead.orderBy(byId).limit(1);
  return { rows: endedAt === null ? rows : rows.filter(({ id }) => !isBefore(order, endedAt, id)), endedAt };
}

/** Compares two rows in the order of the list. */
const isBefore = (order: RequestFilter['order'], a: string, b: string): boolean => (order === 'desc' ? a > b : a < b);

interface Reading {
  where: SQL | undefined;
  keyIds: readonly string[] | undefined;
  /** Maximum number of rows to scan, per key if keys are given. */
  maxRows: number;
}

function readRows(filter: RequestFilter, others: SQL | undefined, pages: number): Reading {
  const { where, isSparse } = indexedConditions(filter);
  const { keyIds, limit } = filter;
  const maxRows = isSparse ? Math.ceil(MAX_SPARSE_ROWS / pages / (keyIds?.length || 1)) : MAX_ADJACENT_ROWS;
  return { where, keyIds, maxRows: keyIds !== undefined && others === undefined ? limit + 1 : maxRows };
}

/** Columns of `indexScan`, which is not a Drizzle table. */
const FIELDS = Object.fromEntries(
  Object.entries(getTableColumns(requestLog)).map(([field, column]) => [field, sql`${column}`.mapWith(column)]),
) as unknown as { [Field in keyof RequestRow]: SQL<RequestRow[Field]> };

/** SQL of an index range scan, in the shape of `request_log`. Each key has its own range. */
function indexScan({ where = sql`true`, keyIds, byId, range }: Omit<Reading, 'maxRows'> & { byId: SQL; range: SQL }) {
  const select = (isSelected: SQL) => sql`select * from ${requestLog} where ${isSelected} order by ${byId} ${range}`;
  if (keyIds === undefined) return sql`(${select(where)}) as request_log`;
  const ids = sql.join(
    keyIds.map((id) => sql`(${id})`),
    sql`, `,
  );
  return sql`(select log.* from (values ${ids}) as caller (id)
    cross join lateral (${select(sql`${where} and ${requestLog.keyId} = caller.id`)}) as log) as request_log`;
}

/** Conditions that an index serves, and whether it selects rows that are far from each other. */
function indexedConditions(filter: RequestFilter): { where: SQL | undefined; isSparse: boolean } {
  const { id } = requestLog;
  const { order, after, from, until, status, errorText } = filter;
  const isError = (status !== undefined && status.min >= 400) || errorText !== undefined;
  const where = and(
    filter.organizationId === null ? undefined : eq(requestLog.organizationId, filter.organizationId),
    after === null ? undefined : order === 'desc' ? lt(id, after) : gt(id, after),
    from === undefined ? undefined : gte(id, minIdAt('request', from)),
    until === undefined ? undefined : lt(id, minIdAt('request', until)),
    filter.id === undefined ? undefined : eq(id, filter.id),
    // The index of a key also contains rows without errors; these count as scanned.
    isError && filter.keyIds === undefined ? IS_ERROR : undefined,
  );
  return { where, isSparse: isError || filter.keyIds !== undefined };
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
  return (await selectRequests(database, [filter])).rows[0] ?? null;
}

/** Deletes the rows of an organization. */
export async function deleteRequestsOfOrganization(database: Sql, organizationId: string): Promise<void> {
  await database.delete(requestLog).where(eq(requestLog.organizationId, organizationId));
}
