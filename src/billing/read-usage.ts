import type { Deps } from '../deps.ts';
import { insufficientScope, invalidValue } from '../errors.ts';
import { hasScope } from '../http/auth.ts';
import type { Caller } from '../lib/caller.ts';
import { UsageBucket, type UsagePage, type UsageParams } from './schema.ts';
import { DAY_MS, selectCallerNames, sumUsage, USAGE_GROUPS, type UsageGroup, type UsageSum } from './usage-store.ts';

const HOUR_MS = 3_600_000;
const BUCKET_MS = { hour: HOUR_MS, day: DAY_MS, total: DAY_MS };
/** Days before `end_time` unless `start_time` is given. */
const DEFAULT_DAYS = 7;
/** Buckets of one request. */
const MAX_BUCKETS = 1_000;
/** Value of `organization_id` for all organizations. */
const ALL = 'all';
const DEFAULT_LIMIT = 1_000;

/**
 * Reads the usage of the caller's organization or, with the scope `admin`, of other organizations. Throws 400 for
 * groups that do not exist and for too many buckets, and 403 for other organizations.
 */
export async function readUsage(
  deps: Pick<Deps, 'db' | 'now'>,
  caller: Caller,
  params: UsageParams,
): Promise<UsagePage> {
  const bucket = params.bucket ?? 'day';
  const width = BUCKET_MS[bucket];
  const endTime = params.end_time === undefined ? deps.now() : params.end_time * 1000;
  const startTime = params.start_time === undefined ? endTime - DEFAULT_DAYS * DAY_MS : params.start_time * 1000;
  if (startTime >= endTime) throw invalidValue('start_time', "must be before 'end_time'");
  const start = startTime - (startTime % width);
  const end = Math.ceil(endTime / width) * width;
  if ((end - start) / width > MAX_BUCKETS) {
    throw invalidValue('start_time', `must be at most ${MAX_BUCKETS} buckets before 'end_time'`);
  }
  const limit = params.limit ?? DEFAULT_LIMIT;
  const offset = Number(params.after ?? 0);
  const groups = parseGroups(params.group_by ?? '');
  const organizationId = selectOrganizationId(caller, params.organization_id);
  const keyIds = params.key_id?.split(',') ?? null;
  const sums = await sumUsage(deps.db, { start, end, bucket, groups, organizationId, keyIds, offset, limit });
  const shown = sums.slice(0, limit);
  // The name of a user can be an email.
  const showsUsers = caller.role !== undefined || hasScope(caller, 'keys');
  const names = await selectCallerNames(deps.db, [...new Set(shown.flatMap((sum) => sum.key_id ?? []))], showsUsers);
  const length = bucket === 'total' ? end - start : width;
  const data = shown.map((sum) => viewUsageSum(sum, length, names));
  return {
    object: 'list',
    data,
    has_more: sums.length > limit,
    first_id: data.length === 0 ? null : String(offset + 1),
    last_id: data.length === 0 ? null : String(offset + data.length),
  };
}

function parseGroups(text: string): UsageGroup[] {
  // Rows are grouped by organization anyway.
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'organization');
  const unknown = names.find((name) => !(name in USAGE_GROUPS));
  if (unknown !== undefined)
    throw invalidValue('group_by', `has no group '${unknown}'; there are model, key and route`);
  return [...new Set(names as UsageGroup[])];
}

/** Resolves `organization_id`: null for all organizations. Throws 403 unless the scope `admin` allows another one. */
export function selectOrganizationId(caller: Caller, wanted: string | undefined): string | null {
  if (wanted === undefined || wanted === caller.organizationId) return caller.organizationId;
  if (!caller.scopes.has('admin')) {
    throw insufficientScope("The usage of other organizations needs the scope 'admin'.", 'organization_id');
  }
  return wanted === ALL ? null : wanted;
}

function viewUsageSum({ start, ...sum }: UsageSum, width: number, names: ReadonlyMap<string, string>): UsageBucket {
  return {
    object: 'usage',
    start_time: start / 1000,
    end_time: (start + width) / 1000,
    ...sum,
    key_name: sum.key_id === null ? null : (names.get(sum.key_id) ?? null),
  };
}

const COLUMNS = (Object.keys(UsageBucket.properties) as (keyof UsageBucket)[]).filter((name) => name !== 'object');

/** Usage as CSV (RFC 4180) with a header. Empty fields are null. */
export function usageCsv(rows: readonly UsageBucket[]): string {
  const lines = rows.map((row) => COLUMNS.map((column) => csvField(row[column])).join(','));
  return [COLUMNS.join(','), ...lines, ''].join('\r\n');
}

/** Quotes what would end the field. A leading apostrophe keeps spreadsheets from running a model id as a formula. */
function csvField(value: string | number | null): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
