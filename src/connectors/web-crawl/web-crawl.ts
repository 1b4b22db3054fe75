import { Readable } from 'node:stream';
import type { Static } from 'typebox';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { requirePlainUrl } from '../config-fields.ts';
import type { Connector, ConnectorDeps } from '../connector.ts';
import { HostPace } from '../http/host-pace.ts';
import { requireGlob, WebCrawlConfig } from './config.ts';
import { Crawl } from './crawl.ts';
import { fetchPage } from './fetch-page.ts';
import { pageExtension, pageFilename } from './page-format.ts';
import { createRendering } from './render-page.ts';
import { fetchRobots } from './robots.ts';
import { samplePages } from './sample-pages.ts';

/** Pages of web sites. */
export const webCrawl: Connector<typeof WebCrawlConfig> = {
  type: 'web_crawl',
  config: WebCrawlConfig,
  secretFields: [],
  confirmsDeletions: true,
  check(config) {
    config.urls.forEach((url, i) => {
      requirePlainUrl(url, `config.urls.${i}`);
    });
    for (const name of ['include_patterns', 'exclude_patterns'] as const) {
      config[name]?.forEach((pattern, i) => {
        requireGlob(pattern, `config.${name}.${i}`);
      });
    }
    return config;
  },
  list: (deps, config, signal) => new Crawl(deps, config, signal).items(),
  sample: samplePages,
  async fetch(deps, config, { key }, signal) {
    const page = await deps.crawlStore.selectItem(key);
    if (page === null) throw new IngestionError('not_found', 'The page was not found by the crawl.');
    if (page.state === 'failed' && page.error !== null) throw new IngestionError(page.error.code, page.error.message);
    // The content of an unchanged page is not stored: its document failed before, and is read again.
    const { body, mediaType } =
      page.body === null
        ? await refetch(deps, config, page.url, signal)
        : { body: page.body, mediaType: page.mediaType };
    const extension = pageExtension(page.url, mediaType) ?? 'html';
    return {
      bytes: Readable.from([body]),
      filename: pageFilename(page.url, extension),
      mediaType,
      metadata: { url: key, ...(page.lastModified !== null && { last_modified: page.lastModified }) },
    };
  },
  finish: ({ crawlStore }) => crawlStore.deleteStale(),
};

async function refetch(deps: ConnectorDeps, config: Static<typeof WebCrawlConfig>, url: string, signal: AbortSignal) {
  const pace = new HostPace(config.requests_per_second ?? 10);
  const readRobots = (origin: string) =>
    fetchRobots(deps.http, origin, signal).catch((error: unknown) => {
      if (error instanceof IngestionError) return error;
      throw error;
    });
  const fetcher = {
    http: deps.http,
    pace,
    rendering: createRendering(deps, { robotsOf: readRobots, paceOf: () => pace }),
  };
  const fetched = await fetchPage(fetcher, url, { etag: null, lastModified: null }, signal);
  if (fetched.kind === 'page') return fetched;
  if (fetched.kind === 'failed') throw fetched.error;
  throw new IngestionError('not_found', `The page ${url} has changed since it was listed.`);
}
