import { and, asc, count, eq, sql as expression, gt, inArray, isNotNull, lt, ne, or, type SQL } from 'drizzle-orm';
import type { CrawlPage, CrawlStore, FrontierUrl, PageResult } from '../../connectors/crawl-store.ts';
import type { Sql } from '../../db/db.ts';
import { crawlPages } from './tables.ts';

/** URLs per statement. */
const URLS_PER_STATEMENT = 500;
const { url, position, depth, redirects, state, itemKey, fingerprint, name, mediaType } = crawlPages;
const { etag, lastModified, links, error } = crawlPages;
/** States of pages that are items of the data source. */
const ITEM_STATES = ['stored', 'failed'] as const;
const COLUMNS = {
  ...{ url, position, depth, redirects, state, itemKey, fingerprint, name, mediaType },
  ...{ etag, lastModified, links, error },
};

/** The crawl of one data source by one job, in the table `crawl_pages`. */
export class CrawlTable implements CrawlStore {
  readonly #sql: Sql;
  readonly #scope: { sourceId: string; jobId: string };
  readonly #isOfSource: SQL;
  readonly #isOfJob: SQL | undefined;

  constructor(sql: Sql, scope: { sourceId: string; jobId: string }) {
    this.#sql = sql;
    this.#scope = scope;
    this.#isOfSource = eq(crawlPages.dataSourceId, scope.sourceId);
    this.#isOfJob = and(this.#isOfSource, eq(crawlPages.jobId, scope.jobId));
  }

  transaction<T>(work: (store: CrawlStore) => Promise<T>): Promise<T> {
    return this.#sql.transaction((sql) => work(new CrawlTable(sql, this.#scope)));
  }

  async enqueue(urls: readonly FrontierUrl[]): Promise<number> {
    const { sourceId: dataSourceId, jobId } = this.#scope;
    let added = 0;
    for (let from = 0; from < urls.length; from += URLS_PER_STATEMENT) {
      const page = urls.slice(from, from + URLS_PER_STATEMENT);
      const queued = await this.#sql
        .insert(crawlPages)
        .values(page.map((frontierUrl) => ({ ...frontierUrl, dataSourceId, jobId, state: 'queued' as const })))
        .onConflictDoUpdate({
          target: [crawlPages.dataSourceId, crawlPages.url],
          set: {
            jobId,
            state: 'queued',
            depth: expression`excluded.depth`,
            redirects: expression`excluded.redirects`,
            position: expression`excluded.position`,
            error: null,
          },
          setWhere: ne(crawlPages.jobId, jobId),
        })
        .returning({ url: crawlPages.url });
      added += queued.length;
    }
    return added;
  }

  selectQueued(limit: number): Promise<CrawlPage[]> {
    const isQueued = and(this.#isOfJob, eq(crawlPages.state, 'queued'));
    const order = [asc(crawlPages.depth), asc(crawlPages.position)];
    return this.#sql
      .select(COLUMNS)
      .from(crawlPages)
      .where(isQueued)
      .orderBy(...order)
      .limit(limit);
  }

  selectItems(after: number, limit: number): Promise<CrawlPage[]> {
    const isNext = and(this.#isOfJob, inArray(crawlPages.state, ITEM_STATES), gt(crawlPages.position, after));
    return this.#sql.select(COLUMNS).from(crawlPages).where(isNext).orderBy(asc(crawlPages.position)).limit(limit);
  }

  async selectItem(key: string): Promise<(CrawlPage & { body: Buffer | null }) | null> {
    const isOfKey = and(this.#isOfJob, inArray(crawlPages.state, ITEM_STATES), eq(crawlPages.itemKey, key));
    const [row] = await this.#sql
      .select({ ...COLUMNS, body: crawlPages.body })
      .from(crawlPages)
      .where(isOfKey)
      .limit(1);
    return row ?? null;
  }

  async selectStartUrls(): Promise<string[]> {
    const isStart = and(this.#isOfJob, eq(crawlPages.depth, 0));
    const rows = await this.#sql.select({ url: crawlPages.url }).from(crawlPages).where(isStart);
    return rows.map((row) => row.url);
  }

  async countStates(): Promise<Record<CrawlPage['state'], number>> {
    const columns = { state: crawlPages.state, count: count() };
    const rows = await this.#sql.select(columns).from(crawlPages).where(this.#isOfJob).groupBy(crawlPages.state);
    const counts = { queued: 0, stored: 0, duplicate: 0, skipped: 0, failed: 0 };
    for (const row of rows) counts[row.state] = row.count;
    return counts;
  }

  async isStored(page: { itemKey: string; fingerprint: string }): Promise<boolean> {
    const isSame = or(eq(crawlPages.itemKey, page.itemKey), eq(crawlPages.fingerprint, page.fingerprint));
    const isStoredPage = and(this.#isOfJob, eq(crawlPages.state, 'stored'), isSame);
    const rows = await this.#sql.select({ url: crawlPages.url }).from(crawlPages).where(isStoredPage).limit(1);
    return rows.length > 0;
  }

  async update(pageUrl: string, result: PageResult): Promise<void> {
    const isPage = and(this.#isOfSource, eq(crawlPages.url, pageUrl));
    await this.#sql.update(crawlPages).set(result).where(isPage);
  }

  async deleteBodies(before: number): Promise<void> {
    const isObsolete = and(this.#isOfSource, isNotNull(crawlPages.body), lt(crawlPages.position, before));
    await this.#sql.update(crawlPages).set({ body: null }).where(isObsolete);
  }

  async deleteStale(): Promise<void> {
    await this.deleteBodies(Number.MAX_SAFE_INTEGER);
    await this.#sql.delete(crawlPages).where(and(this.#isOfSource, ne(crawlPages.jobId, this.#scope.jobId)));
  }
}
