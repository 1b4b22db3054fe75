import type { Static } from 'typebox';
import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';
import type { ConnectorDeps, SourceItem } from '../connector.ts';
import type { CrawlPage, CrawlStore } from '../crawl-store.ts';
import { HostPace } from '../http/host-pace.ts';
import type { WebCrawlConfig } from './config.ts';
import { type FetchedPage, fetchPage } from './fetch-page.ts';
import { createRendering, type PageRendering } from './render-page.ts';
import { fetchRobots, type RobotsRules, readSitemaps } from './robots.ts';
import { settlePage } from './settle-page.ts';
import { createUrlRules, normalizeUrl, parseSite, type UrlRules } from './url-rules.ts';

/** Pages fetched at once, over all hosts. */
const CONCURRENT_PAGES = 16;
/** Queued URLs loaded at once, besides those being fetched. */
const QUEUED_PER_LOAD = 64;
/** URLs of one crawl: traps without end are cut off here. */
const MAX_URLS_PER_PAGE = 10;
const MIN_URLS = 1000;
/** Yielded items whose content is kept: more than the ingestion holds unfinished, which takes 200 at a time. */
const KEPT_BODIES = 512;
const FOUND_PER_LOAD = 200;

/** A URL that is being fetched. */
interface Visit {
  row: CrawlPage;
  fetched: Promise<FetchedPage>;
}

/**
 * One crawl of a job. The frontier is stored: a crawl that was interrupted continues with the URLs that it has not
 * read. Pages are fetched concurrently and settled in the order of their discovery, so that equal sites give equal
 * items.
 */
export class Crawl {
  readonly #deps: ConnectorDeps;
  readonly #config: Static<typeof WebCrawlConfig>;
  readonly #sites = new Set<string>();
  readonly #rules: UrlRules;
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  readonly #paces = new Map<string, HostPace>();
  readonly #robots = new Map<string, Promise<RobotsRules | IngestionError>>();
  readonly #rendering: PageRendering | null;
  readonly #visits: Visit[] = [];
  readonly #yielded: number[] = [];
  readonly #maxUrls: number;
  #stored = 0;
  #known = 0;
  /** Set when URLs were left out: then the listing is not complete. */
  #truncation: IngestionError | null = null;

  constructor(deps: ConnectorDeps, config: Static<typeof WebCrawlConfig>, signal: AbortSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#signal = AbortSignal.any([signal, this.#stopped.signal]);
    this.#rules = createUrlRules(this.#sites, config);
    this.#maxUrls = MIN_URLS + MAX_URLS_PER_PAGE * this.maxPages;
    this.#rendering = createRendering(deps, {
      robotsOf: (origin) => this.#robotsOf(origin),
      paceOf: (url) => this.#paceOf(url),
    });
  }

  get maxPages(): number {
    return this.#config.max_pages ?? 100;
  }

  /** Yields the items of the site. Throws at the end when the listing is not complete. */
  async *items(): AsyncGenerator<SourceItem> {
    try {
      await this.#begin();
      yield* this.#foundBefore();
      for (;;) {
        await this.#startVisits();
        const visit = this.#visits.shift();
        if (visit === undefined) break;
        const row = await this.#settle(visit.row, await visit.fetched);
        if (row !== null) yield await this.#toItem(row);
      }
      await this.#requireStart();
      if (this.#truncation !== null) throw this.#truncation;
    } finally {
      this.#stopped.abort(new Error('the crawl has ended'));
      await Promise.allSettled(this.#visits.map(({ fetched }) => fetched));
    }
  }

  /** Queues the start URLs and sitemaps, unless an earlier run of the job has. */
  async #begin(): Promise<void> {
    const { crawlStore } = this.#deps;
    for (const url of this.#config.urls) this.#sites.add(parseSite(url));
    const counts = await crawlStore.countStates();
    this.#known = Object.values(counts).reduce((sum, count) => sum + count, 0);
    this.#stored = counts.stored;
    if (this.#known > 0) {
      for (const url of await crawlStore.selectStartUrls()) this.#sites.add(parseSite(url));
      return;
    }
    const starts = new Set(this.#config.urls.map((url) => normalizeUrl(url)).filter((url) => url !== null));
    const pages = (this.#config.max_depth ?? 3) > 0 ? await this.#readSitemaps(starts) : { urls: [], failed: [] };
    await crawlStore.transaction(async (store) => {
      await this.#enqueue(store, [...starts], { depth: 0, redirects: 0 });
      await this.#enqueue(store, pages.urls, { depth: 1, redirects: 0 });
      for (const { url, error } of pages.failed) {
        await this.#enqueue(store, [url], { depth: 1, redirects: 0 });
        const { code, message } = error;
        await store.update(url, { state: 'failed', itemKey: url, name: url, error: { code, message } });
      }
    });
  }

  /** Returns the pages of the sitemaps of the start URLs' origins, and the sitemaps that will never be readable. */
  async #readSitemaps(starts: ReadonlySet<string>) {
    const origins = new Set([...starts].map((url) => new URL(url).origin));
    const rules = await Promise.all([...origins].map((origin) => this.#robotsOf(origin)));
    const sitemaps = rules.flatMap((one) => (one instanceof IngestionError ? [] : one.sitemaps));
    const { pages, failed } = await readSitemaps(this.#deps.http, [...new Set(sitemaps)], this.#signal);
    const passing = failed.find(({ error }) => error.code === 'timeout' || error.code === 'server_error');
    this.#truncation ??= passing?.error ?? null;
    const lasting = failed.filter(({ error }) => error.code === 'blocked_url');
    return { urls: pages.filter((url) => this.#rules.follows(url)), failed: lasting };
  }

  async *#foundBefore(): AsyncGenerator<SourceItem> {
    for (let after = 0; ; ) {
      const rows = await this.#deps.crawlStore.selectItems(after, FOUND_PER_LOAD);
      for (const row of rows) {
        after = row.position;
        yield await this.#toItem(row);
      }
      if (rows.length < FOUND_PER_LOAD) return;
    }
  }

  /** Fetches the next URLs, no more than pages may still be stored. */
  async #startVisits(): Promise<void> {
    const limit = Math.min(CONCURRENT_PAGES, this.maxPages - this.#stored);
    if (limit <= 0) {
      this.#visits.length = 0;
      return;
    }
    // Refilled when half of them have ended, to load several rows with one statement.
    if (this.#visits.length > limit / 2) return;
    const inFlight = new Set(this.#visits.map(({ row }) => row.url));
    const queued = await this.#deps.crawlStore.selectQueued(QUEUED_PER_LOAD + inFlight.size);
    for (const row of queued) {
      if (this.#visits.length >= limit) return;
      if (inFlight.has(row.url)) continue;
      const fetched = this.#visit(row);
      // Awaited in order; this handler only prevents an unhandledRejection.
      fetched.catch(() => {});
      this.#visits.push({ row, fetched });
    }
  }

  async #visit(row: CrawlPage): Promise<FetchedPage> {
    const robots = await this.#robotsOf(new URL(row.url).origin);
    if (robots instanceof IngestionError) return { kind: 'failed', error: robots };
    if (!robots.allows(row.url)) return { kind: 'nothing', reason: 'access_denied' };
    const validators = { etag: row.etag, lastModified: row.lastModified };
    const fetcher = { http: this.#deps.http, pace: this.#paceOf(row.url), rendering: this.#rendering };
    return fetchPage(fetcher, row.url, validators, this.#signal);
  }

  #paceOf(url: string): HostPace {
    const { host } = new URL(url);
    const pace = this.#paces.get(host) ?? new HostPace(this.#config.requests_per_second ?? 10);
    this.#paces.set(host, pace);
    return pace;
  }

  #robotsOf(origin: string): Promise<RobotsRules | IngestionError> {
    const cachedRobots = this.#robots.get(origin);
    if (cachedRobots !== undefined) return cachedRobots;
    const load = async () => {
      try {
        const rules = await fetchRobots(this.#deps.http, origin, this.#signal);
        if (rules.crawlDelaySeconds !== null) this.#paceOf(origin).slowDown(rules.crawlDelaySeconds);
        return rules;
      } catch (error) {
        if (error instanceof IngestionError) return error;
        throw error;
      }
    };
    const loading = load();
    loading.catch(() => {});
    this.#robots.set(origin, loading);
    return loading;
  }

  /** Stores the result of a page and its links. Returns the row of an item, or null. */
  async #settle(row: CrawlPage, fetched: FetchedPage): Promise<CrawlPage | null> {
    return this.#deps.crawlStore.transaction(async (store) => {
      const { result, links, redirect } = await settlePage(store, { row, fetched, rules: this.#rules });
      await store.update(row.url, result);
      if (redirect !== null) {
        if (row.depth === 0) this.#sites.add(parseSite(redirect));
        const isFollowed = row.depth === 0 || this.#rules.follows(redirect);
        if (isFollowed) await this.#enqueue(store, [redirect], { depth: row.depth, redirects: row.redirects + 1 });
      }
      if (row.depth < (this.#config.max_depth ?? 3)) {
        const followed = links.filter((url) => this.#rules.follows(url));
        await this.#enqueue(store, followed, { depth: row.depth + 1, redirects: 0 });
      }
      if (result.state === 'stored') this.#stored += 1;
      const isItem = result.state === 'stored' || result.state === 'failed';
      return isItem ? { ...row, ...(result as Partial<CrawlPage>) } : null;
    });
  }

  async #enqueue(
    store: CrawlStore,
    urls: readonly string[],
    place: { depth: number; redirects: number },
  ): Promise<void> {
    const accepted = urls.slice(0, Math.max(0, this.#maxUrls - this.#known));
    if (accepted.length < urls.length) {
      const message = `The crawl ended after ${this.#maxUrls} URLs. Exclude endless parts of the site with exclude_patterns.`;
      this.#truncation ??= new IngestionError('too_large', message);
    }
    this.#known += await store.enqueue(accepted.map((url) => ({ url, ...place })));
  }

  async #toItem(row: CrawlPage): Promise<SourceItem> {
    this.#yielded.push(row.position);
    if (this.#yielded.length >= 2 * KEPT_BODIES) {
      this.#yielded.splice(0, KEPT_BODIES);
      await this.#deps.crawlStore.deleteBodies(Math.min(...this.#yielded));
    }
    const key = row.itemKey ?? row.url;
    const fingerprint = row.state === 'failed' ? `failed ${row.error?.code}` : (row.fingerprint ?? '');
    return { key, fingerprint, name: row.name ?? key, uri: key };
  }

  /** Throws the error of a start URL when none could be read, and lets the next run of the job try them again. */
  async #requireStart(): Promise<void> {
    const { crawlStore } = this.#deps;
    const counts = await crawlStore.countStates();
    if (counts.stored + counts.duplicate > 0 || counts.failed === 0) return;
    const rows = await crawlStore.selectItems(0, FOUND_PER_LOAD);
    const failed = rows.filter(({ depth }) => depth === 0);
    const error = failed[0]?.error;
    if (!error) return;
    for (const row of failed) await crawlStore.update(row.url, { state: 'queued' });
    throw new IngestionError(error.code as JobErrorCode, error.message);
  }
}
