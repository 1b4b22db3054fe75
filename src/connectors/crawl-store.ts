import type { JobErrorCode } from '../extraction/ingestion-error.ts';

/** A known URL of a crawl: an entry of its frontier, and the result of its page. */
export interface CrawlPage {
  /** Normalized URL. */
  url: string;
  /** Order of discovery within a depth. */
  position: number;
  /** Link distance from a start URL. */
  depth: number;
  /** Redirects that led here. */
  redirects: number;
  /** `stored` and `failed` pages are items of the data source. */
  state: 'queued' | 'stored' | 'duplicate' | 'skipped' | 'failed';
  /** Canonical URL: the key of the item. Null until the page was read. */
  itemKey: string | null;
  /** SHA-256 of the visible text, or of the bytes of other formats. */
  fingerprint: string | null;
  name: string | null;
  mediaType: string | null;
  etag: string | null;
  lastModified: string | null;
  /** Links of the page to the hosts of the crawl. */
  links: string[];
  error: { code: JobErrorCode; message: string } | null;
}

/** A URL to visit. */
export type FrontierUrl = Pick<CrawlPage, 'url' | 'depth' | 'redirects'>;

/** Result of reading a page; absent fields keep their values. */
export type PageResult = Partial<Omit<CrawlPage, 'url' | 'position'>> &
  Pick<CrawlPage, 'state'> & { body?: Buffer | null };

/** Stored frontier and results of the crawl of one data source by one job. */
export interface CrawlStore {
  /** Runs `work` in a transaction. */
  transaction<T>(work: (store: CrawlStore) => Promise<T>): Promise<T>;
  /** Adds URLs to the frontier that the job has not added yet. Returns their number. */
  enqueue(urls: readonly FrontierUrl[]): Promise<number>;
  /** Selects queued URLs, nearest to the start first. */
  selectQueued(limit: number): Promise<CrawlPage[]>;
  /** Selects items that an earlier run of the job has found, in order of their positions after `after`. */
  selectItems(after: number, limit: number): Promise<CrawlPage[]>;
  /** Selects the page that an item was made from, with its content. */
  selectItem(key: string): Promise<(CrawlPage & { body: Buffer | null }) | null>;
  /** Selects the URLs of depth 0: the start URLs and the targets of their redirects. */
  selectStartUrls(): Promise<string[]>;
  /** Counts the URLs of the job by state. */
  countStates(): Promise<Record<CrawlPage['state'], number>>;
  /** Whether the job has stored a page with the same key or the same content. */
  isStored(page: { itemKey: string; fingerprint: string }): Promise<boolean>;
  /** Updates a page after it was read. */
  update(url: string, result: PageResult): Promise<void>;
  /** Deletes the contents of pages up to a position. */
  deleteBodies(before: number): Promise<void>;
  /** Deletes all contents, and the URLs that the job has not found. */
  deleteStale(): Promise<void>;
}
