import { gunzipSync } from 'node:zlib';
import { Parser } from 'htmlparser2';
import robotsParser from 'robots-parser';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { type GuardedHttp, readBody } from '../http/guarded-http.ts';
import { normalizeUrl } from './url-rules.ts';

/** The package exports a function; its types describe a module with a default export. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** Name that robots.txt and `<meta name>` address. */
export const ROBOT_NAME = 'QuireBot';
/** `User-Agent` of the crawl. */
export const USER_AGENT = `Mozilla/5.0 (compatible; ${ROBOT_NAME}/1.0)`;
/** Bytes of robots.txt that are read, the minimum of RFC 9309. */
const MAX_ROBOTS_BYTES = 512_000;
const ROBOTS_TIMEOUT_MS = 20_000;
/** Limits of the sitemap protocol: bytes of one sitemap. */
const MAX_SITEMAP_BYTES = 52_428_800;
/** Sitemaps read in one crawl, including sitemaps of indexes. */
const MAX_SITEMAPS = 100;
/** URLs taken from the sitemaps of one crawl. */
const MAX_SITEMAP_URLS = 100_000;

/** The rules of one origin. */
export interface RobotsRules {
  allows(url: string): boolean;
  /** Null without one. */
  crawlDelaySeconds: number | null;
  sitemaps: string[];
}

/**
 * Fetches robots.txt (RFC 9309): a client error allows everything. Throws `IngestionError` when it cannot be read,
 * which forbids everything.
 */
export async function fetchRobots(http: GuardedHttp, origin: string, signal: AbortSignal): Promise<RobotsRules> {
  const url = `${origin}/robots.txt`;
  const headers = { 'user-agent': USER_AGENT };
  const response = await http.request(
    url,
    { headers, maxBytes: MAX_ROBOTS_BYTES, timeoutMs: ROBOTS_TIMEOUT_MS },
    signal,
  );
  if (response.status >= 500 || response.status === 429) {
    await response.discard();
    const code = response.status === 429 ? 'rate_limited' : 'server_error';
    throw new IngestionError(code, `${new URL(origin).host} answers ${response.status} for robots.txt.`);
  }
  if (response.status !== 200) await response.discard();
  const text = response.status === 200 ? (await readBody(response)).toString() : '';
  const robots = parseRobots(url, text);
  const crawlDelay = robots.getCrawlDelay(ROBOT_NAME) ?? null;
  return {
    allows: (page) => robots.isAllowed(page, ROBOT_NAME) !== false,
    crawlDelaySeconds: crawlDelay !== null && crawlDelay > 0 ? crawlDelay : null,
    sitemaps: robots.getSitemaps(),
  };
}

/** A sitemap that could not be read. */
export interface FailedSitemap {
  url: string;
  error: IngestionError;
}

/** Reads sitemaps and sitemap indexes. Returns the normalized URLs of pages, and the sitemaps that failed. */
export async function readSitemaps(
  http: GuardedHttp,
  sitemaps: readonly string[],
  signal: AbortSignal,
): Promise<{ pages: string[]; failed: FailedSitemap[] }> {
  const pages = new Set<string>();
  const failed: FailedSitemap[] = [];
  const queue = new Set(sitemaps);
  // A set visits what is added during the iteration.
  for (const url of queue) {
    if (queue.size > MAX_SITEMAPS || pages.size >= MAX_SITEMAP_URLS) break;
    try {
      const { isIndex, urls } = await readSitemap(http, url, signal);
      for (const one of urls) {
        const target = isIndex ? queue : pages;
        const isFull = isIndex ? queue.size >= MAX_SITEMAPS : pages.size >= MAX_SITEMAP_URLS;
        if (!isFull) target.add(one);
      }
    } catch (error) {
      if (!(error instanceof IngestionError)) throw error;
      failed.push({ url, error });
    }
  }
  return { pages: [...pages], failed };
}

async function readSitemap(http: GuardedHttp, url: string, signal: AbortSignal) {
  const headers = { 'user-agent': USER_AGENT };
  const response = await http.request(url, { headers, maxBytes: MAX_SITEMAP_BYTES }, signal);
  if (response.status !== 200) {
    await response.discard();
    return { isIndex: false, urls: [] };
  }
  return parseSitemap(decompress(await readBody(response)).toString());
}

/** Sitemaps may be gzip files, besides compressed responses. */
function decompress(bytes: Buffer): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_SITEMAP_BYTES });
  } catch (error) {
    throw new IngestionError('invalid_file', 'The sitemap is a damaged or too large gzip file.', error);
  }
}

/** Parses the XML of https://www.sitemaps.org/protocol.html, or a text file with one URL per line. */
export function parseSitemap(text: string): { isIndex: boolean; urls: string[] } {
  const urls = new Set<string>();
  const add = (href: string) => {
    const url = normalizeUrl(href.trim());
    if (url !== null && urls.size < MAX_SITEMAP_URLS) urls.add(url);
  };
  if (!text.trimStart().startsWith('<')) {
    for (const line of text.split('\n')) add(line);
    return { isIndex: false, urls: [...urls] };
  }
  let isIndex = false;
  let location: string | null = null;
  const parser = new Parser(
    {
      onopentag: (name) => {
        if (name === 'sitemapindex') isIndex = true;
        if (name === 'loc') location = '';
      },
      ontext: (part) => {
        if (location !== null) location += part;
      },
      onclosetag: (name) => {
        if (name !== 'loc' || location === null) return;
        add(location);
        location = null;
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  return { isIndex, urls: [...urls] };
}
