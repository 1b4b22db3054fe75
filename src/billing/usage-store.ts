import { sql as fragment, inArray, lt, max } from 'drizzle-orm';
import type { Database, Sql } from '../db/db.ts';
import { minIdAt } from '../lib/ids.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import type { UsageBucket } from './schema.ts';
import { usageDaily, usageRecords, usageRollups } from './tables.ts';

/** Dimensions that usage can be grouped by, with their columns. */
export const USAGE_GROUPS = { model: 'model', key: 'key_id', route: 'endpoint' } as const;

/** A dimension of `USAGE_GROUPS`. */
export type UsageGroup = keyof typeof USAGE_GROUPS;

/** Which usage to add up. Times are milliseconds since 1970, on bounds of buckets; `end` is exclusive. */
export interface UsageQuery {
  start: number;
  end: number;
  /** `total`: one row per group, the most expensive first. */
  bucket: 'hour' | 'day' | 'total';
  groups: readonly UsageGroup[];
  /** Null: all organizations. */
  organizationId: string | null;
  /** Null: all keys. */
  keyIds: readonly string[] | null;
  offset: number;
  limit: number;
}

/** Usage of one bucket and group. `start`: milliseconds since 1970. Dimensions of other groups are null. */
export type UsageSum = Omit<UsageBucket, 'object' | 'start_time' | 'end_time' | 'key_name'> & { start: number };

const SUMS = ['prompt_tokens', 'cached_tokens', 'completion_tokens', 'searches', 'rerank_units', 'cost_micros'];
/** The least id of a usage record that was created at `time` (milliseconds since 1970) or later. */
export const firstIdAt = (time: number): string => minIdAt('usage', time);

/**
 * Adds up usage by bucket, organization and groups, in that order. Days come from the daily sums as far as those reach,
 * everything else from the records. Returns up to `limit + 1` rows.
 */
export async function sumUsage(db: Database, query: UsageQuery): Promise<UsageSum[]> {
  const columns = query.groups.map((group) => USAGE_GROUPS[group]);
  const grouped = ['organization_id', ...columns];
  const rolledUp = query.bucket === 'hour' ? null : await rolledUpUntil(db.sql);
  const recordsFrom = Math.max(query.start, rolledUp ?? query.start);
  const values: unknown[] = [query.organizationId, firstIdAt(recordsFrom), firstIdAt(query.end), query.keyIds];
  const isSelected = '($1::text is null or organization_id = $1) and ($4::text[] is null or key_id = any($4))';
  const isTotal = query.bucket === 'total';
  const epoch = `to_timestamp(${query.start / 1000}) at time zone 'UTC'`;
  const fromRecords = `select ${isTotal ? epoch : `date_trunc('${query.bucket}', created_at at time zone 'UTC')`} as start, ${grouped.join(', ')},
      1::bigint as requests, ${SUMS.join(', ')}
    from usage_records where id >= $2 and id < $3 and ${isSelected}`;
  const parts = [fromRecords];
  if (rolledUp !== null) {
    values.push(utcDay(query.start), utcDay(query.end));
    parts.push(`select ${isTotal ? epoch : 'day::timestamp'} as start, ${grouped.join(', ')}, requests, ${SUMS.join(', ')}
    from usage_daily where day >= $5::date and day < $6::date and ${isSelected}`);
  }
  const groups = ['start', ...grouped].join(', ');
  const order = isTotal ? `sum(cost_micros) desc, sum(requests) desc, ${grouped.join(', ')}` : groups;
  const dimension = (group: UsageGroup) => (query.groups.includes(group) ? USAGE_GROUPS[group] : 'null');
  const statement = `select (extract(epoch from start) * 1000)::float8 as start, organization_id,
      ${dimension('model')} as model, ${dimension('key')} as key_id, ${dimension('route')} as route,
      ${['requests', ...SUMS].map((column) => `sum(${column})::float8 as ${column}`).join(', ')}
    from (${parts.join(' union all ')}) as usage
    group by ${groups} order by ${order} limit ${query.limit + 1} offset ${query.offset}`;
  const { rows } = await db.execute(statement, values);
  return rows as UsageSum[];
}

const utcDay = (time: number): string => new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** The end of the last day in the daily sums, in milliseconds since 1970; null when there is none. */
export async function rolledUpUntil(sql: Sql): Promise<number | null> {
  const [row] = await sql.select({ day: max(usageRollups.day) }).from(usageRollups);
  return row?.day == null ? null : Date.parse(row.day) + DAY_MS;
}

/** Names of API keys and, with `showsUsers`, of users by id. Deleted ones are absent. */
export async function selectCallerNames(
  db: Database,
  ids: readonly string[],
  showsUsers: boolean,
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const statement = `select id, name from api_keys where id = any($1) union all select id, name from users where id = any($1) and $2`;
  const { rows } = await db.execute(statement, [ids, showsUsers]);
  return new Map((rows as { id: string; name: string }[]).map(({ id, name }) => [id, name]));
}

/**
 * Selects the ids of API keys and, with `showsUsers`, of users whose name contains the text (case-insensitive), newest
 * first. `organizationId` is null for all organizations.
 */
export async function selectCallerIds(
  db: Database,
  search: { text: string; organizationId: string | null; showsUsers: boolean; limit: number },
): Promise<string[]> {
  const isNamed = 'strpos(lower(name), lower($1)) > 0';
  const statement = `select id from api_keys where ${isNamed} and ($2::text is null or organization_id = $2)
    union all select id from users where $3 and ${isNamed}
      and exists (select from members where user_id = users.id and ($2::text is null or organization_id = $2))
    order by id desc limit $4`;
  const { rows } = await db.execute(statement, [search.text, search.organizationId, search.showsUsers, search.limit]);
  return (rows as { id: string }[]).map(({ id }) => id);
}

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

/** Creation time of the oldest usage record, in milliseconds since 1970; null without records. */
export async function oldestRecordAt(sql: Sql): Promise<number | null> {
  const [row] = await sql
    .select({ createdAt: usageRecords.createdAt })
    .from(usageRecords)
    .orderBy(usageRecords.id)
    .limit(1);
  return row?.createdAt.getTime() ?? null;
}

/** Adds the sums of a UTC day, which begins at `start`. Does nothing when another process has added them. */
export async function insertDay(sql: Sql, start: number): Promise<void> {
  const day = utcDay(start);
  await sql.transaction(async (transaction) => {
    const claimed = await transaction.insert(usageRollups).values({ day }).onConflictDoNothing().returning();
    if (claimed.length === 0) return;
    await transaction.execute(fragment`
      insert into ${usageDaily} (day, organization_id, key_id, model, endpoint, requests, prompt_tokens, cached_tokens,
        completion_tokens, searches, rerank_units, cost_micros, charged_micros, cache_hits, cache_misses)
      select ${day}::date, organization_id, key_id, model, endpoint, count(*), sum(prompt_tokens), sum(cached_tokens),
        sum(completion_tokens), sum(searches), sum(rerank_units), sum(cost_micros), sum(charged_micros),
        count(*) filter (where is_cache_hit), count(*) filter (where not is_cache_hit)
      from ${usageRecords} where id >= ${firstIdAt(start)} and id < ${firstIdAt(start + DAY_MS)}
      group by organization_id, key_id, model, endpoint`);
  });
}

/** Deletes the records that were created before `time` (milliseconds since 1970). */
export async function deleteRecordsBefore(sql: Sql, time: number): Promise<void> {
  await sql.delete(usageRecords).where(lt(usageRecords.id, firstIdAt(time)));
}

/** Processed prompts of a model since its first usage. */
export interface PromptCacheSum {
  model: string;
  /** Prompts with a cached prefix, and prompts without. */
  hits: number;
  misses: number;
  cachedTokens: number;
}

/** Adds up the use of the prefix cache by model, of all organizations. */
export async function sumPromptCache(sql: Sql): Promise<PromptCacheSum[]> {
  const recordsFrom = (await rolledUpUntil(sql)) ?? 0;
  const { rows } = (await sql.execute(fragment`
    select model, sum(hits)::float8 as hits, sum(misses)::float8 as misses, sum(cached_tokens)::float8 as "cachedTokens" from (
      select model, cache_hits as hits, cache_misses as misses, cached_tokens from ${usageDaily}
      where day < ${utcDay(recordsFrom)}::date
      union all
      select model, count(*) filter (where is_cache_hit), count(*) filter (where not is_cache_hit), sum(cached_tokens)
      from ${usageRecords} where id >= ${firstIdAt(recordsFrom)} group by model
    ) as prompts group by model`)) as unknown as { rows: PromptCacheSum[] };
  return rows;
}

/** Those of the records, read from JSON, that the ledger does not have. */
export async function selectUnledgered(sql: Sql, stored: readonly UsageRecord[]): Promise<UsageRecord[]> {
  const ids = stored.map(({ id }) => id);
  const inLedger = await sql.select({ id: usageRecords.id }).from(usageRecords).where(inArray(usageRecords.id, ids));
  const recorded = new Set(inLedger.map(({ id }) => id));
  // JSON has no dates.
  return stored
    .filter(({ id }) => !recorded.has(id))
    .map((record) => ({ ...record, createdAt: new Date(record.createdAt) }));
}
