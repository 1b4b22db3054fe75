import { compileGlob } from './glob.ts';

/** Maximum characters of a URL; PostgreSQL indexes at most 2,704 bytes. */
const MAX_URL_CHARACTERS = 2048;
/** Query parameters that track visitors and do not change a page. */
const TRACKING = /^(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|_hsenc|_hsmi|yclid)$/i;
/** Extensions of files that hold no text which can be read. */
const ASSETS =
  /\.(?:avif|bmp|css|eot|exe|gif|gz|ico|iso|jpe?g|js|json|map|mjs|mov|mp[34]|mpe?g|ogg|otf|pkg|png|rar|rss|svg|tar|tgz|tiff?|ttf|wasm|wav|webm|webp|woff2?|xml|zip)$/i;

/** Returns the normalized URL: without fragment, credentials and tracking parameters. Null unless http or https. */
export function normalizeUrl(href: string, base?: string): string | null {
  if (!URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  const tracking = [...url.searchParams.keys()].filter((name) => TRACKING.test(name));
  // Deleting a parameter encodes the query again, so other queries stay as they are.
  for (const name of tracking) url.searchParams.delete(name);
  return url.href.length > MAX_URL_CHARACTERS ? null : url.href;
}

/** Host and port without `www.`: a site is often served with and without it. */
export function parseSite(url: string): string {
  return new URL(url).host.replace(/^www\./, '');
}

/** Which URLs a crawl visits and stores. */
export interface UrlRules {
  /** Whether a link is followed. */
  follows(url: string): boolean;
  /** Whether a page is stored: start URLs are visited even if they are not. */
  stores(url: string): boolean;
  /** Whether the URL is on a host of the start URLs. */
  isOnSite(url: string): boolean;
}

/** Creates the rules of a crawl. `sites` may grow: redirects of start URLs add to it. */
export function createUrlRules(
  sites: ReadonlySet<string>,
  config: { include_patterns?: string[]; exclude_patterns?: string[] },
): UrlRules {
  const includes = config.include_patterns?.map(compileGlob) ?? [];
  const excludes = config.exclude_patterns?.map(compileGlob) ?? [];
  const isOnSite = (url: string) => sites.has(parseSite(url));
  const stores = (url: string) =>
    isOnSite(url) &&
    (includes.length === 0 || includes.some((matches) => matches(url))) &&
    !excludes.some((matches) => matches(url));
  return { isOnSite, stores, follows: (url) => stores(url) && !ASSETS.test(new URL(url).pathname) };
}
