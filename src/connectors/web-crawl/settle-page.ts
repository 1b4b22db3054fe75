import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { CrawlPage, CrawlStore, PageResult } from '../crawl-store.ts';
import type { FetchedPage } from './fetch-page.ts';
import { normalizeUrl, type UrlRules } from './url-rules.ts';

/** Redirects from one URL to the next that are followed. */
const MAX_REDIRECTS = 10;

/** What becomes of a URL: the new fields of its row, the links to follow, and the target of a redirect. */
export interface SettledPage {
  result: PageResult;
  links: readonly string[];
  redirect: string | null;
}

/** Fields of a page that has no content of its own: a later request for it must not be conditional. */
const NO_CONTENT = { fingerprint: null, itemKey: null, etag: null, lastModified: null, links: [] as string[] };

/** Decides what becomes of a URL after it was fetched. */
export async function settlePage(
  store: CrawlStore,
  { row, fetched, rules }: { row: CrawlPage; fetched: FetchedPage; rules: UrlRules },
): Promise<SettledPage> {
  switch (fetched.kind) {
    case 'failed':
      return failPage(store, row, fetched.error);
    case 'nothing':
      // Broken links are common. A start URL was named by the caller.
      if (row.depth === 0) return failPage(store, { ...row, links: [] }, missingStart(row.url, fetched.reason));
      return { result: { state: 'skipped', ...NO_CONTENT }, links: [], redirect: null };
    case 'redirect':
      return redirectPage(store, row, fetched.target);
    case 'unchanged': {
      if (row.fingerprint === null) return failPage(store, row, unexpectedUnchanged(row.url));
      const { itemKey, fingerprint, links } = row;
      return storePage(store, rules, {
        url: row.url,
        itemKey: itemKey ?? row.url,
        fingerprint,
        links,
        fields: {},
      });
    }
    case 'page':
      return readFetched(store, rules, { row, fetched });
  }
}

async function readFetched(
  store: CrawlStore,
  rules: UrlRules,
  { row, fetched }: { row: CrawlPage; fetched: FetchedPage & { kind: 'page' } },
): Promise<SettledPage> {
  const { facts, fingerprint, validators, mediaType, body } = fetched;
  const links = facts === null || facts.noFollow ? [] : facts.links.filter(rules.isOnSite);
  if (facts?.noIndex) return { result: { state: 'skipped', ...NO_CONTENT }, links, redirect: null };
  if (facts?.needsJavaScript) {
    const message = fetched.isRendered
      ? 'The page shows no text, although its JavaScript was run.'
      : 'The page shows its text only with JavaScript. An operator can enable it with QUIRE_CHROMIUM_PATH.';
    return failPage(store, { ...row, links }, new IngestionError('no_text', message));
  }
  // A canonical URL outside of the rules is ignored: it is a hint of the page's author, and it is not fetched.
  const { canonical = null, title = null } = facts ?? {};
  const itemKey = canonical !== null && rules.stores(canonical) ? canonical : row.url;
  const fields = { ...validators, name: title ?? itemKey, mediaType, body };
  return storePage(store, rules, { url: row.url, itemKey, fingerprint, links, fields });
}

async function storePage(
  store: CrawlStore,
  rules: UrlRules,
  page: { url: string; itemKey: string; fingerprint: string; links: string[]; fields: Partial<PageResult> },
): Promise<SettledPage> {
  const { body, ...fields } = { body: null, ...page.fields };
  const { itemKey, fingerprint, links } = page;
  const common = { ...fields, itemKey, fingerprint, links, error: null };
  const settled = (result: PageResult) => ({ result, links, redirect: null });
  if (!rules.stores(page.url)) return settled({ ...common, state: 'skipped' });
  if (await store.isStored(page)) return settled({ ...common, state: 'duplicate' });
  return settled({ ...common, state: 'stored', body });
}

/** A stored page keeps its key, so that its document stays, and its links, so that their pages are found. */
async function failPage(store: CrawlStore, row: CrawlPage, error: IngestionError): Promise<SettledPage> {
  const itemKey = row.itemKey ?? row.url;
  const { code, message } = error;
  const { links } = row;
  const isKnown = await store.isStored({ itemKey, fingerprint: '' });
  const state = isKnown ? 'skipped' : 'failed';
  const result: PageResult = { state, itemKey, name: row.name ?? itemKey, error: { code, message }, links };
  return { result, links, redirect: null };
}

async function redirectPage(store: CrawlStore, row: CrawlPage, target: string): Promise<SettledPage> {
  const url = normalizeUrl(target);
  if (row.depth === 0 && url === null) {
    return failPage(
      store,
      row,
      new IngestionError('blocked_url', 'A start URL redirects to a URL that is not http or https.'),
    );
  }
  if (url === row.url || row.redirects >= MAX_REDIRECTS) {
    const { host } = new URL(row.url);
    return failPage(store, row, new IngestionError('server_error', `${host} redirects in a loop.`));
  }
  return { result: { state: 'skipped', ...NO_CONTENT }, links: [], redirect: url };
}

function missingStart(url: string, reason: 'not_found' | 'unsupported_file' | 'access_denied'): IngestionError {
  const messages = {
    not_found: `The page ${url} does not exist.`,
    unsupported_file: `The page ${url} has an unsupported format.`,
    access_denied: `The robots.txt of ${new URL(url).host} does not allow the page.`,
  };
  return new IngestionError(reason, messages[reason]);
}

function unexpectedUnchanged(url: string): IngestionError {
  return new IngestionError('server_error', `${new URL(url).host} answers 304 to a request without a condition.`);
}
