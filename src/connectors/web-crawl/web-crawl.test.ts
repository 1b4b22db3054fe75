import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { html, type SiteServer, startSite } from '../../../test/fixtures/site-server.ts';
import { useSync } from '../../../test/sync.ts';
import { GuardedHttp } from '../http/guarded-http.ts';
import { fetchRobots } from './robots.ts';

const names = (documents: { name: string }[]) => documents.map(({ name }) => name);

describe('a data source of the type web_crawl', () => {
  const { create } = useSync();
  let site: SiteServer;
  let secret: SiteServer;
  before(async () => {
    [site, secret] = await Promise.all([startSite(), startSite('127.0.0.2')]);
    site.fallback = null;
  });
  after(() => {
    site.close();
    secret.close();
  });
  const crawl = (more: object = {}, start = '/') => {
    site.requests.length = 0;
    const config = { urls: [site.url + start], requests_per_second: 50, ...more };
    return create({ type: 'web_crawl', config });
  };
  const publish = (pages: Record<string, Parameters<SiteServer['pages']['set']>[1]>) => {
    site.pages.clear();
    for (const [path, page] of Object.entries(pages)) site.pages.set(path, page);
  };
  const pagesRequested = () => site.requests.filter((path) => path !== '/robots.txt').toSorted();

  it('ingests the pages of a site, sees changes and deletions, and cites their URLs', async () => {
    publish({
      '/': html('Home', 'Granite and marble.', ['/a', '/b', '/a#part', '/missing', '/logo.png']),
      '/a': html('Page A', 'Salmon swims upstream.', ['/'], '<meta name="description" content="Fish">'),
      '/b': html('Page B', 'Copper conducts.', ['/notes.txt']),
      '/notes.txt': { body: 'Plain basalt notes.', type: 'text/plain' },
    });
    const source = await crawl();
    assert.deepEqual([source.first.status, source.first.documents_new, source.first.error], ['completed', 4, null]);
    assert.deepEqual(pagesRequested(), ['/', '/a', '/b', '/missing', '/notes.txt']);
    const [found] = await source.find('salmon');
    assert.deepEqual(
      [found.document_name, found.metadata.url, found.metadata.description],
      ['Page A', `${site.url}/a`, 'Fish'],
    );
    const documents = await source.documents();
    assert.equal(documents.find(({ name }) => name === 'Page A').source_uri, `${site.url}/a`);

    const unchanged = await source.sync();
    assert.deepEqual([unchanged.documents_skipped, unchanged.documents_processed], [4, 0]);
    assert.equal(site.statuses.slice(-6).filter((status) => status === 304).length, 4);

    site.pages.set('/a', html('Page A', 'Trout swims upstream.'));
    site.pages.delete('/notes.txt');
    const changed = await source.sync();
    assert.deepEqual([changed.documents_modified, changed.documents_deleted, changed.documents_skipped], [1, 1, 2]);
    assert.deepEqual([await source.find('salmon'), await source.find('basalt')], [[], []]);
    assert.equal((await source.find('trout')).length, 1);
  });

  it('stores a page once: by canonical URL, content, tracking parameters and redirects', async () => {
    publish({
      '/': html('Home', 'Start.', ['/page?utm_source=x', '/page', '/print', '/copy', '/old', '/loop']),
      '/page': html('Page', 'The page itself.'),
      '/print': html('Page to print', 'The page itself, for printers.', [], `<link rel="canonical" href="/page">`),
      '/copy': html('Page', 'The page itself.'),
      '/old': { status: 301, headers: { location: '/page' } },
      '/loop': { status: 302, headers: { location: '/loop2' } },
      '/loop2': { status: 302, headers: { location: '/loop' } },
    });
    const source = await crawl();
    assert.deepEqual(names(await source.documents()), ['Home', 'Page']);
    assert.equal(new Set(pagesRequested()).size, pagesRequested().length, 'no URL is requested twice');
  });

  it('follows ten redirects in a row', async () => {
    publish({ '/': html('Home', 'Start.', ['/r/0']) });
    site.fallback = (path) => {
      const next = Number(/^\/r\/(\d+)$/.exec(path)?.[1] ?? -1) + 1;
      return next === 0 ? { status: 404 } : { status: 302, headers: { location: `/r/${next}` } };
    };
    const { first } = await crawl();
    site.fallback = null;
    const failed = first.document_details.find(({ status }: { status: string }) => status === 'failed');
    assert.match(failed.error.message, /redirects in a loop/);
    assert.equal(pagesRequested().length, 12);
  });

  it('stays within depth, number of pages, patterns, site and robots.txt', async () => {
    const other = `${secret.url}/secret`;
    publish({
      '/robots.txt': { body: `User-agent: *\nDisallow: /private\nSitemap: ${site.url}/map.xml`, type: 'text/plain' },
      '/map.xml': {
        body: `<urlset><url><loc>${site.url}/mapped</loc></url><url><loc>${other}</loc></url></urlset>`,
        type: 'application/xml',
      },
      '/': html('Home', 'Start.', [
        '/docs/a',
        '/blog/b',
        '/private/c',
        '/out',
        other,
        'mailto:a@b.example',
        'javascript:x()',
      ]),
      '/out': { status: 302, headers: { location: other } },
      '/mapped': html('Mapped', 'In the sitemap.'),
      '/docs/a': html('Docs', 'First level.', ['/docs/deep'], `<link rel="canonical" href="${other}">`),
      '/docs/deep': html('Deep', 'Second level.'),
      '/blog/b': html('Blog', 'A post.'),
    });
    const shallow = await (await crawl({ max_depth: 1 })).documents();
    assert.deepEqual(names(shallow), ['Blog', 'Docs', 'Home', 'Mapped']);
    // The canonical URL of another site is ignored.
    assert.ok(shallow.every(({ source_uri }) => source_uri.startsWith(`${site.url}/`)));
    assert.ok(!site.requests.some((path) => path.startsWith('/private')));
    assert.deepEqual(names(await (await crawl({ include_patterns: ['**/docs/**'] })).documents()), ['Deep', 'Docs']);
    const excluding = await crawl({ exclude_patterns: ['**/docs/**', '**/mapped'] });
    assert.deepEqual(names(await excluding.documents()), ['Blog', 'Home']);
    assert.equal((await (await crawl({ max_pages: 2 })).documents()).length, 2);
    assert.deepEqual(secret.requests, []);
  });

  it('reads no page while robots.txt cannot be read, and all of them when there is none', async (t) => {
    const http = new GuardedHttp(['127.0.0.1']);
    t.after(() => http.close());
    const never = new AbortController().signal;
    const page = { '/': html('Home', 'Start.') };
    for (const status of [429, 500, 503]) {
      publish({ ...page, '/robots.txt': { status } });
      site.requests.length = 0;
      await assert.rejects(fetchRobots(http, site.url, never), {
        code: status === 429 ? 'rate_limited' : 'server_error',
      });
      assert.deepEqual(site.requests, ['/robots.txt']);
    }
    publish({ ...page, '/robots.txt': { status: 404 } });
    assert.equal((await fetchRobots(http, site.url, never)).allows(`${site.url}/`), true);
  });

  it('fails with blocked_url for private start URLs, their redirects and sitemaps, and connects to none', async () => {
    publish({
      '/robots.txt': { body: `Sitemap: ${secret.url}/map.xml`, type: 'text/plain' },
      '/': html('Home', 'Start.'),
      '/away': { status: 302, headers: { location: `${secret.url}/` } },
    });
    const direct = await create({ type: 'web_crawl', config: { urls: [`${secret.url}/`] } });
    assert.deepEqual([direct.first.status, direct.first.error.code], ['failed', 'blocked_url']);
    const redirected = await crawl({ max_depth: 0 }, '/away');
    assert.deepEqual([redirected.first.status, redirected.first.error.code], ['failed', 'blocked_url']);
    const { first } = await crawl();
    const failed = first.document_details.find(({ status }: { status: string }) => status === 'failed');
    assert.deepEqual([failed.document_name, failed.error.code], [`${secret.url}/map.xml`, 'blocked_url']);
    assert.deepEqual(secret.requests, []);
  });

  it('keeps documents of pages that fail for a while, and of pages found through them', async () => {
    publish({
      '/': html('Home', 'Start.', ['/list']),
      '/list': html('List', 'Entries.', ['/entry']),
      '/entry': html('Entry', 'The entry.'),
    });
    const source = await crawl();
    assert.equal(source.first.documents_new, 3);
    site.pages.set('/list', { status: 403 });
    const job = await source.sync();
    assert.deepEqual([job.documents_deleted, job.documents_skipped, job.documents_failed], [0, 2, 1]);
    assert.equal((await source.find('entry')).length, 1);
  });

  it('fails and deletes nothing when the site does not answer', async () => {
    publish({ '/': html('Home', 'Start.') });
    const source = await crawl();
    site.pages.set('/', { status: 404 });
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'not_found', 0]);
    assert.deepEqual([(await source.source()).status, names(await source.documents())], ['error', ['Home']]);
  });

  it('deletes more than half of the documents only when a second listing confirms it', async () => {
    publish({
      '/': html('Home', 'Start.', ['/a', '/b', '/c']),
      '/a': html('A', '1'),
      '/b': html('B', '2'),
      '/c': html('C', '3'),
    });
    const source = await crawl();
    site.pages.set('/', html('Home', 'Start.'));
    const first = await source.sync();
    assert.deepEqual([first.documents_deleted, first.documents_pending_deletion], [0, 3]);
    assert.equal((await source.documents()).length, 4);
    const second = await source.sync();
    assert.deepEqual([second.documents_deleted, second.documents_pending_deletion], [3, 0]);
    assert.deepEqual(names(await source.documents()), ['Home']);
  });

  it('waits as Retry-After asks', async () => {
    publish({ '/': html('Home', 'Start.') });
    let attempts = 0;
    site.pages.delete('/');
    site.fallback = () => {
      attempts += 1;
      return attempts === 1
        ? { status: 404 }
        : attempts === 2
          ? { status: 429, headers: { 'retry-after': '0' } }
          : { body: html('Home', 'At last.') };
    };
    const source = await crawl();
    site.fallback = null;
    assert.deepEqual(names(await source.documents()), ['Home']);
    assert.equal(attempts, 3);
  });

  it('reads charsets, respects noindex, and reports pages that need JavaScript', async () => {
    const latin = Buffer.from(html('Käse', 'Würzige Käsesorten.'), 'latin1');
    publish({
      '/': html('Home', 'Start.', ['/latin', '/hidden', '/app']),
      '/latin': { body: latin, type: 'text/html; charset=iso-8859-1' },
      '/hidden': html('Hidden', 'Not for search.', ['/behind'], '<meta name="robots" content="noindex">'),
      '/behind': html('Be\0hind', 'Found through it.'),
      '/app':
        '<html><head><title>App</title></head><body><div id="root"></div><script src="/x.js"></script></body></html>',
    });
    const source = await crawl();
    const documents = await source.documents();
    assert.deepEqual(names(documents.filter(({ status }) => status === 'completed')), ['Be hind', 'Home', 'Käse']);
    const app = documents.find(({ status }) => status === 'failed');
    assert.equal(app.error.code, 'no_text');
    assert.match(app.error.message, /JavaScript/);
    assert.equal((await source.find('Käsesorten')).length, 1);
  });
});
