import { selectOrganizationId } from '../billing/read-usage.ts';
import { selectCallerIds, selectCallerNames } from '../billing/usage-store.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import { hasScope } from '../http/auth.ts';
import type { Caller } from '../lib/caller.ts';
import { idTime, isId } from '../lib/ids.ts';
import { hasReadableContents } from './contents/manage-contents.ts';
import type { LoggedRequest, LoggedRequestDetail, RequestsQuery } from './schema.ts';
import { type RequestFilter, type RequestRow, selectRequest, selectRequests } from './store.ts';

/** Maximum number of keys and users that a search matches by name. Each adds an index lookup per partition. */
const MAX_CALLERS = 50;

/**
 * A page of the requests of the caller's organization or, with the scope `admin`, of other organizations. Throws 400
 * for an empty time range, and 403 for other organizations.
 */
export async function listRequests({ db }: Pick<Deps, 'db'>, caller: Caller, query: RequestsQuery) {
  const bounds = pageBounds(query, 'request');
  const { start_time: start, end_time: end, search } = query;
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalidValue('start_time', "must be before 'end_time'");
  }
  const filter: RequestFilter = {
    ...bounds,
    order: query.order ?? 'desc',
    organizationId: selectOrganizationId(caller, query.organization_id),
    from: start === undefined ? undefined : start * 1000,
    until: end === undefined ? undefined : end * 1000,
    status: query.status === undefined ? undefined : parseStatus(query.status),
    model: query.model,
    keyIds: query.key_id === undefined ? undefined : [query.key_id],
    route: query.route,
    guardrail: query.guardrail,
    isCacheHit: query.cache === undefined ? undefined : query.cache === 'hit',
    minDurationMs: query.min_duration_ms,
  };
  const { rows, endedAt } = await selectRequests(db.sql, await searchFilters(db, caller, filter, search?.trim()));
  const names = await readNames(db, caller, rows);
  const listed = page(
    rows.map((row) => viewRequest(row, names)),
    bounds.limit,
  );
  return endedAt === null ? listed : { ...listed, has_more: true, last_id: endedAt };
}

/** One request with its steps. Throws 404 `request_not_found`. The scope `admin` finds those of all organizations. */
export async function readRequest(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: Caller,
  id: string,
): Promise<LoggedRequestDetail> {
  const organizationId = hasScope(caller, 'admin') ? null : caller.organizationId;
  const row = isId('request', id) ? await selectRequest(db.sql, organizationId, id) : null;
  if (row === null) throw notFound('request', id, 'request_id');
  // They are stored in the order of their end.
  const steps = (row.steps ?? []).toSorted((a, b) => a.start_ms - b.start_ms);
  const hasContents = await hasReadableContents({ db, now }, caller, id);
  return { ...viewRequest(row, await readNames(db, caller, [row])), has_contents: hasContents, steps };
}

/** Names of keys and, for callers who may see them, of users: the name of a user can be an email. */
function readNames(db: Deps['db'], caller: Caller, rows: readonly RequestRow[]): Promise<ReadonlyMap<string, string>> {
  return selectCallerNames(db, [...new Set(rows.map(({ keyId }) => keyId))], showsUsers(caller));
}

const showsUsers = (caller: Caller): boolean => caller.role !== undefined || hasScope(caller, 'keys');

/** Returns alternative filters of a search: by error, and by the name of a key or user. */
async function searchFilters(
  db: Deps['db'],
  caller: Caller,
  filter: RequestFilter,
  text: string | undefined,
): Promise<RequestFilter[]> {
  if (text === undefined) return [filter];
  if (isId('request', text)) return [{ ...filter, id: text }];
  const byError = { ...filter, errorText: text };
  const search = { text, organizationId: filter.organizationId, showsUsers: showsUsers(caller), limit: MAX_CALLERS };
  const callers = await selectCallerIds(db, search);
  const { keyIds } = filter;
  const chosen = keyIds === undefined ? callers : callers.filter((id) => keyIds.includes(id));
  return chosen.length === 0 ? [byError] : [byError, { ...filter, keyIds: chosen }];
}

function parseStatus(status: string): { min: number; max: number } {
  if (status === 'error') return { min: 400, max: 599 };
  if (!status.endsWith('xx')) return { min: Number(status), max: Number(status) };
  const min = Number(status[0]) * 100;
  return { min, max: min + 99 };
}

function viewRequest(row: RequestRow, names: ReadonlyMap<string, string>): LoggedRequest {
  const { errorCode, errorMessage, firstTokenMs, durationMs, isCacheHit } = row;
  return {
    id: row.id,
    object: 'request',
    created_at: idTime('request', row.id),
    organization_id: row.organizationId,
    key_id: row.keyId,
    key_name: names.get(row.keyId) ?? null,
    route: row.route,
    model: row.model,
    status: row.status,
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' },
    is_batch: row.isBatch,
    model_calls: row.modelCalls,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    completion_tokens: row.completionTokens,
    cost_micros: row.costMicros,
    duration_ms: durationMs,
    queue_ms: row.queueMs,
    first_token_ms: firstTokenMs,
    decode_ms: firstTokenMs === null ? null : durationMs - firstTokenMs,
    cache: isCacheHit === null ? null : isCacheHit ? 'hit' : 'miss',
    guardrail: row.guardrail,
    trace_id: row.traceId,
  };
}
