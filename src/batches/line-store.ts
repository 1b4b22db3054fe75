import { and, asc, eq, sql as fragment, gt, inArray, isNotNull } from 'drizzle-orm';
import { selectUnledgered } from '../billing/usage-store.ts';
import type { Database, Sql } from '../db/db.ts';
import type { CallKind } from '../inference/call-kinds.ts';
import type { ReservedUsage, UsageRecord } from '../lib/usage-record.ts';
import type { RangeRun } from './range-store.ts';
import { batches, batchLines, batchRanges } from './tables.ts';

/** A validated line. */
export type NewLine = Pick<
  typeof batchLines.$inferSelect,
  'batchId' | 'line' | 'id' | 'customId' | 'start' | 'bytes' | 'weight' | 'orderKey'
>;

/** A line that has no result yet. */
export type PendingLine = Pick<NewLine, 'line' | 'start' | 'bytes' | 'weight'>;

/** The result of a line. */
export interface LineResult {
  line: number;
  status: 'completed' | 'failed';
  statusCode: number;
  requestId: string;
  /** JSON text of the response body. */
  body: string;
  /** JSON text of `{code, message}`; null for a completed line. */
  error: string | null;
  usage: ReservedUsage[];
  /** What the endpoint of the line calls. */
  kind: CallKind;
}

/** Inserts validated lines. One JSON parameter: thousands of parameters would take most of the time of a validation. */
export async function insertLines(sql: Sql, lines: readonly NewLine[]): Promise<void> {
  await sql.execute(fragment`
    insert into ${batchLines} (batch_id, line, id, custom_id, start, bytes, weight, order_key)
    select "batchId", line, id, "customId", start, bytes, weight, "orderKey"
    from json_to_recordset(${JSON.stringify(lines)}::json) as row("batchId" text, line int, id text, "customId" text,
      start bigint, bytes int, weight bigint, "orderKey" text)`);
}

/** Number of lines of a batch. */
export function countLines(sql: Sql, batchId: string): Promise<number> {
  return sql.$count(batchLines, eq(batchLines.batchId, batchId));
}

/** Deletes the lines of a batch and their ranges. */
export async function deleteLines(sql: Sql, batchId: string): Promise<void> {
  await sql.delete(batchRanges).where(eq(batchRanges.batchId, batchId));
  await sql.delete(batchLines).where(eq(batchLines.batchId, batchId));
}

/** Selects the lines without a result, in the order of the input file. `lines`: only these. */
export function selectPendingLines(
  sql: Sql,
  batchId: string,
  lines?: readonly number[],
): Promise<(PendingLine & Pick<NewLine, 'orderKey'>)[]> {
  const { line, start, bytes, weight, orderKey } = batchLines;
  const isSelected = lines === undefined ? undefined : inArray(line, [...lines]);
  return sql
    .select({ line, start, bytes, weight, orderKey })
    .from(batchLines)
    .where(and(eq(batchLines.batchId, batchId), eq(batchLines.status, 'pending'), isSelected))
    .orderBy(asc(line));
}

/**
 * Stores the results of lines that have none yet, with their usage, and counts them. One statement: a line has its
 * result, its usage and its place in the counters, or nothing of it. The lock of the range makes its next run wait, so
 * that it sees these results. Not prepared: a plan for the small table of the first lines would scan a large one.
 */
const SAVE_RESULTS = `
  with held as materialized (
    select batch_id from batch_ranges where batch_id = $2 and range = $3 and run = $4 for share
  ), results as (
    select * from json_to_recordset($1::json) as row(line int, status text, status_code int, request_id text, body text,
      error text, usage jsonb, cost bigint, prompt bigint, cached bigint, completion bigint, reasoning bigint)
      cross join held
  ), saved as (
    update batch_lines as stored
    set status = results.status, status_code = results.status_code, request_id = results.request_id,
      body = results.body, error = results.error, unrecorded_usage = results.usage
    from results
    where stored.batch_id = results.batch_id and stored.line = results.line and stored.status = 'pending'
    returning stored.batch_id, stored.line, stored.status
  ), counts as (
    select batch_id, count(*) filter (where saved.status = 'completed') as completed,
      count(*) filter (where saved.status = 'failed') as failed,
      sum(cost) as cost, sum(prompt) as prompt, sum(cached) as cached, sum(completion) as completion,
      sum(reasoning) as reasoning
    from saved join results using (batch_id, line) group by batch_id
  ), counted as (
    update batches set completed_lines = completed_lines + counts.completed, failed_lines = failed_lines + counts.failed,
      cost_micros = cost_micros + counts.cost, prompt_tokens = prompt_tokens + counts.prompt,
      cached_tokens = cached_tokens + counts.cached, completion_tokens = completion_tokens + counts.completion,
      reasoning_tokens = reasoning_tokens + counts.reasoning
    from counts where batches.id = counts.batch_id
  )
  select line from saved`;

/** The cost of a line, and the tokens that its response reports: not of other calls, as for its query. */
function sumUsage({ usage, kind }: LineResult) {
  const sums = { cost: 0, prompt: 0, cached: 0, completion: 0, reasoning: 0 };
  for (const { record } of usage) {
    sums.cost += record.costMicros;
    if (record.operation !== kind) continue;
    sums.prompt += record.promptTokens;
    sums.cached += record.cachedTokens;
    sums.completion += record.completionTokens;
    sums.reasoning += record.reasoningTokens ?? 0;
  }
  return sums;
}

/**
 * Stores results of lines of one range. Returns the lines that this call has stored: a line has one result, and a run
 * that another one has replaced stores none.
 */
export async function saveResults(
  db: Database,
  { batchId, range, run }: RangeRun,
  results: readonly LineResult[],
): Promise<ReadonlySet<number>> {
  const rows = results.map((result) => ({
    line: result.line,
    status: result.status,
    status_code: result.statusCode,
    request_id: result.requestId,
    body: result.body,
    error: result.error,
    usage: result.usage.length === 0 ? null : result.usage.map(({ record }) => record),
    ...sumUsage(result),
  }));
  const saved = await db.execute(SAVE_RESULTS, [JSON.stringify(rows), batchId, range, run]);
  return new Set((saved.rows as { line: number }[]).map(({ line }) => line));
}

/** Lines and usage records that are not yet known to be in the ledger. `of`: only of these lines. */
export async function selectUnrecordedUsage(
  sql: Sql,
  { batchId, of }: { batchId: string; of: readonly number[] | undefined },
  limit: number,
): Promise<{ lines: number[]; records: UsageRecord[] }> {
  const isSelected = of === undefined ? undefined : inArray(batchLines.line, [...of]);
  const rows = await sql
    .select({ line: batchLines.line, usage: batchLines.unrecordedUsage })
    .from(batchLines)
    .where(and(eq(batchLines.batchId, batchId), isNotNull(batchLines.unrecordedUsage), isSelected))
    .limit(limit);
  const records = await selectUnledgered(
    sql,
    rows.flatMap(({ usage }) => usage ?? []),
  );
  return { lines: rows.map(({ line }) => line), records };
}

/** Clears the usage of lines whose records are in the ledger. */
export async function clearUnrecordedUsage(sql: Sql, batchId: string, lines: readonly number[]): Promise<void> {
  await sql
    .update(batchLines)
    .set({ unrecordedUsage: null })
    .where(and(eq(batchLines.batchId, batchId), inArray(batchLines.line, [...lines])));
}

/** Fails all lines without a result. Returns how many. `error`: JSON of `{code, message}`. Requires a transaction. */
export async function failPendingLines(sql: Sql, batchId: string, error: string): Promise<number> {
  const failed = await sql
    .update(batchLines)
    .set({ status: 'failed', error })
    .where(and(eq(batchLines.batchId, batchId), eq(batchLines.status, 'pending')))
    .returning({ line: batchLines.line });
  await sql
    .update(batches)
    .set({ failedLines: fragment`${batches.failedLines} + ${failed.length}` })
    .where(eq(batches.id, batchId));
  return failed.length;
}

/** Size of a line's result. */
export interface ResultSize {
  line: number;
  bytes: number;
}

/** Selects sizes of results after a line, in line order. */
export async function selectResultSizes(
  sql: Sql,
  { batchId, status }: { batchId: string; status: 'completed' | 'failed' },
  after: number,
  limit: number,
): Promise<ResultSize[]> {
  return sql
    .select({ line: batchLines.line, bytes: fragment<number>`coalesce(octet_length(${batchLines.body}), 0)` })
    .from(batchLines)
    .where(and(eq(batchLines.batchId, batchId), eq(batchLines.status, status), gt(batchLines.line, after)))
    .orderBy(asc(batchLines.line))
    .limit(limit);
}

/** A line with its result, as stored. */
export type StoredResult = Pick<
  typeof batchLines.$inferSelect,
  'line' | 'id' | 'customId' | 'statusCode' | 'requestId' | 'body' | 'error'
>;

/** Selects the results of lines, in line order. */
export function selectResults(sql: Sql, batchId: string, lines: readonly number[]): Promise<StoredResult[]> {
  const { line, id, customId, statusCode, requestId, body, error } = batchLines;
  return sql
    .select({ line, id, customId, statusCode, requestId, body, error })
    .from(batchLines)
    .where(and(eq(batchLines.batchId, batchId), inArray(line, [...lines])))
    .orderBy(asc(line));
}
