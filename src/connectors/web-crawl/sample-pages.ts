import type { Static } from 'typebox';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { ConnectorDeps, SourceItem } from '../connector.ts';
import type { WebCrawlConfig } from './config.ts';
import { attemptPage, type FetchedPage } from './fetch-page.ts';
import { fetchRobots } from './robots.ts';
import { createUrlRules, normalizeUrl, parseSite } from './url-rules.ts';

/** Redirects that are followed from a start URL. */
const MAX_REDIRECTS = 5;

/**
 * Reads each start URL once, as far as robots.txt allows, and yields it and the links that a crawl would follow. Stores
 * nothing. Throws `IngestionError` for a start URL that cannot be read.
 */
export async function* samplePages(
  { http }: Pick<ConnectorDeps, 'http'>,
  config: Static<typeof WebCrawlConfig>,
  signal: AbortSignal,
): AsyncGenerator<SourceItem> {
  const sites = new Set(config.urls.map((url) => parseSite(url)));
  const rules = createUrlRules(sites, config);
  const seen = new Set<string>();
  for (const [index, start] of config.urls.entries()) {
    const { url, page } = await readStart(http, start, signal).catch((error: unknown) => {
      if (error instanceof IngestionError) error.configField = `urls.${index}`;
      throw error;
    });
    sites.add(parseSite(url));
    const links = (config.max_depth ?? 3) > 0 ? (page.facts?.links ?? []).filter((link) => rules.follows(link)) : [];
    for (const candidate of [url, ...links]) {
      if (seen.has(candidate)) continue;
      seen.add(candidate);
      const title = candidate === url ? page.facts?.title : null;
      yield { key: candidate, fingerprint: '', name: title || candidate, uri: candidate };
    }
  }
}

async function readStart(http: ConnectorDeps['http'], start: string, signal: AbortSignal) {
  let url = normalizeUrl(start) ?? start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const robots = await fetchRobots(http, new URL(url).origin, signal);
    if (!robots.allows(url)) throw new IngestionError('access_denied', `The robots.txt of the site disallows ${url}.`);
    const page = await attemptPage(http, url, { etag: null, lastModified: null }, signal);
    if (page.kind === 'page') return { url, page };
    if (page.kind !== 'redirect') throw toError(page, url);
    url = normalizeUrl(page.target) ?? page.target;
  }
  throw new IngestionError('not_found', `${start} redirects more than ${MAX_REDIRECTS} times.`);
}

function toError(fetched: Exclude<FetchedPage, { kind: 'page' | 'redirect' }>, url: string) {
  if (fetched.kind === 'failed') return fetched.error;
  if (fetched.kind === 'nothing' && fetched.reason === 'unsupported_file') {
    return new IngestionError('unsupported_file', `${url} is not of a supported format.`);
  }
  return new IngestionError('not_found', `There is no page at ${url}.`);
}
