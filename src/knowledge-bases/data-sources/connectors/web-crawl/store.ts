import { and, asc, eq, sql as expression, gt, inArray, isNotNull, lt, ne } from 'drizzle-orm';
import type { Sql } from '../../../../db/db.ts';
import { crawlPages } from './tables.ts';

/** A row of `crawl_pages` without its body. */
export type CrawlPageRow = Omit<typeof crawlPages.$inferSelect, 'body'>;

/** The data source and job of a crawl. */
export interface CrawlScope {
  sourceId: string;
  jobId: string;
}

/** A URL to visit. */
export interface FrontierUrl {
  url: string;
  depth: number;
  redirects: number;
}

/** Result of reading a page; absent fields keep their values. */
export type PageResult = Partial<
  Omit<typeof crawlPages.$inferInsert, 'dataSourceId' | 'url' | 'jobId' | 'position'>
> & {
  state: CrawlPageRow['state'];
};

/** URLs per statement. */
const URLS_PER_STATEMENT = 500;
const { dataSourceId, url, jobId, position, depth, redirects, state, itemKey, fingerprint, name, mediaType } =
  crawlPages;
const { etag, lastModified, links, error } = crawlPages;
const COLUMNS = {
  ...{ dataSourceId, url, jobId, position, depth, redirects, state, itemKey, fingerprint, name, mediaType },
  ...{ etag, lastModified, links, error },
};

/** Adds URLs to the frontier that the job does not know yet. Returns their number. */
export async function enqueueUrls(sql: Sql, scope: CrawlScope, urls: readonly FrontierUrl[]): Promise<number> {
  let added = 0;
  for (let from = 0; from < urls.length; from += URLS_PER_STATEMENT) {
    const rows = urls.slice(from, from + URLS_PER_STATEMENT).map((one) => ({
      ...one,
      dataSourceId: scope.sourceId,
      jobId: scope.jobId,
      state: 'queued' as const,
    }));
    const queued = await sql
      .insert(crawlPages)
      .values(rows)
      .onConflictDoUpdate({
        target: [crawlPages.dataSourceId, crawlPages.url],
        set: {
          jobId: scope.jobId,
          state: 'queued',
          depth: expression`excluded.depth`,
          redirects: expression`excluded.redirects`,
          position: expression`excluded.position`,
          error: null,
        },
        setWhere: ne(crawlPages.jobId, scope.jobId),
      })
      .returning({ url: crawlPages.url });
    added += queued.length;
  }
  return added;
}

/** Selects queued URLs, nearest to the start first. */
export function selectQueued(sql: Sql, scope: CrawlScope, limit: number): Promise<CrawlPageRow[]> {
  return sql
    .select(COLUMNS)
    .from(crawlPages)
    .where(and(isOfJob(scope), eq(crawlPages.state, 'queued')))
    .orderBy(asc(crawlPages.depth), asc(crawlPages.position))
    .limit(limit);
}

/** Selects items that an earlier run of the job has found, in order of their positions after `after`. */
export function selectFound(sql: Sql, scope: CrawlScope, after: number, limit: number): Promise<CrawlPageRow[]> {
  return sql
    .select(COLUMNS)
    .from(crawlPages)
    .where(and(isOfJob(scope), inArray(crawlPages.state, ['stored', 'failed']), gt(crawlPages.position, after)))
    .orderBy(asc(crawlPages.position))
    .limit(limit);
}

/** Counts the URLs of the job by state. */
export async function countStates(sql: Sql, scope: CrawlScope): Promise<Record<CrawlPageRow['state'], number>> {
  const rows = await sql
    .select({ state: crawlPages.state, count: expression<number>`count(*)`.mapWith(Number) })
    .from(crawlPages)
    .where(isOfJob(scope))
    .groupBy(crawlPages.state);
  const counts = { queued: 0, stored: 0, duplicate: 0, skipped: 0, failed: 0 };
  for (const row of rows) counts[row.state] = row.count;
  return counts;
}

/** URLs of depth 0: the start URLs and the targets of their redirects. */
export async function selectStartUrls(sql: Sql, scope: CrawlScope): Promise<string[]> {
  const rows = await sql
    .select({ url: crawlPages.url })
    .from(crawlPages)
    .where(and(isOfJob(scope), eq(crawlPages.depth, 0)));
  return rows.map((row) => row.url);
}

/** Whether the job has stored a page with the same key or the same content. */
export async function isStored(
  sql: Sql,
  scope: CrawlScope,
  page: { itemKey: string; fingerprint: string },
): Promise<boolean> {
  const isSame = expression`(${crawlPages.itemKey} = ${page.itemKey} or ${crawlPages.fingerprint} = ${page.fingerprint})`;
  const [row] = await sql
    .select({ url: crawlPages.url })
    .from(crawlPages)
    .where(and(isOfJob(scope), eq(crawlPages.state, 'stored'), isSame))
    .limit(1);
  return row !== undefined;
}

/** Updates a page after it was read. */
export async function updatePage(sql: Sql, scope: CrawlScope, pageUrl: string, result: PageResult): Promise<void> {
  await sql.update(crawlPages).set(result).where(isPage(scope, pageUrl));
}

/** Selects the page that an item was made from, with its content. */
export async function selectItemPage(sql: Sql, scope: CrawlScope, key: string) {
  const [row] = await sql
    .select()
    .from(crawlPages)
    .where(and(isOfJob(scope), inArray(crawlPages.state, ['stored', 'failed']), eq(crawlPages.itemKey, key)))
    .limit(1);
  return row ?? null;
}

/** Deletes the contents of pages up to a position. */
export async function deleteBodies(sql: Sql, scope: CrawlScope, before: number): Promise<void> {
  await sql
    .update(crawlPages)
    .set({ body: null })
    .where(
      and(eq(crawlPages.dataSourceId, scope.sourceId), isNotNull(crawlPages.body), lt(crawlPages.position, before)),
    );
}

/** Deletes all contents, and the URLs that the job has not found. */
export async function deleteStalePages(sql: Sql, scope: CrawlScope): Promise<void> {
  await deleteBodies(sql, scope, Number.MAX_SAFE_INTEGER);
  await sql
    .delete(crawlPages)
    .where(and(eq(crawlPages.dataSourceId, scope.sourceId), ne(crawlPages.jobId, scope.jobId)));
}

function isOfJob(scope: CrawlScope) {
  return and(eq(crawlPages.dataSourceId, scope.sourceId), eq(crawlPages.jobId, scope.jobId));
}

function isPage(scope: CrawlScope, pageUrl: string) {
  return and(eq(crawlPages.dataSourceId, scope.sourceId), eq(crawlPages.url, pageUrl));
}
