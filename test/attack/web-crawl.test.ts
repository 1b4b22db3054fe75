import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { html, type SitePage, type SiteServer, startSite } from '../fixtures/site-server.ts';
import { newDataDir, type Service, startService } from '../spawned-service.ts';
import { scaled } from './scale.ts';

/** Pages of the site with text of their own. */
const PAGES = scaled(5000, 120);
const LINKS = 6;
/** Requests in flight at a kill, which are sent again: `CONCURRENT_PAGES` of the crawl. */
const MAX_REPEATED_PER_KILL = 16;
const MAX_RSS_MB = 900;
const SLOW_MS = 500;
/** A killed job continues when its lease has expired, which takes too long for the short form. */
const KILLS = scaled(3, 0);

describe('a hostile web site', () => {
  let site: SiteServer;
  let secret: SiteServer;
  let service: Service;
  const dataDir = newDataDir();
  const env = { QUIRE_ALLOW_PRIVATE_HOSTS: '127.0.0.1', QUIRE_MODELS_PULL: 'never' };
  before(async () => {
    [site, secret] = await Promise.all([startSite(), startSite('127.0.0.2')]);
    site.fallback = (path) => pageAt(path, secret.url);
    site.hasEtags = false;
    service = await startService({ dataDir, env });
  });
  after(async () => {
    await service.kill();
    site.close();
    secret.close();
  });
  const send = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const response = await fetch(`${service.url}/v1${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
    const json: any = await response.json();
    assert.ok(response.ok, JSON.stringify(json));
    return json;
  };

  // Each kill waits for a lease to expire, beyond the time limit of other tests.
  it(`is crawled once, within its rules, by a service that is killed ${KILLS} times`, {
    timeout: 1_500_000,
  }, async (test) => {
    const base = (await send('POST', '/knowledge-bases', { name: 'Site' })).id;
    const config = {
      urls: [`${site.url}/`],
      max_depth: 20,
      max_pages: PAGES,
      exclude_patterns: ['**/calendar/**'],
      requests_per_second: 50,
    };
    const started = performance.now();
    await send('POST', `/knowledge-bases/${base}/data-sources`, { type: 'web_crawl', config });
    let maxRssMb = 0;
    let kills = 0;
    for (;;) {
      const { data } = await send('GET', `/knowledge-bases/${base}/ingestion-jobs`);
      maxRssMb = Math.max(maxRssMb, rssMb(service.pid));
      if (data[0].status === 'completed' || data[0].status === 'failed') {
        assert.deepEqual([data[0].status, data[0].error], ['completed', null]);
        break;
      }
      if (kills < KILLS && site.requests.length > ((kills + 1) * PAGES) / (KILLS + 1)) {
        kills += 1;
        await service.kill();
        service = await startService({ dataDir, env });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const seconds = (performance.now() - started) / 1000;
    const pages = site.requests.filter((path) => path !== '/robots.txt');
    const repeated = pages.length - new Set(pages).size;
    test.diagnostic(
      `${PAGES} pages, ${pages.length} requests in ${seconds.toFixed(0)} s, ${(PAGES / seconds).toFixed(1)} pages/s, ${repeated} repeated after ${kills} kills, ${maxRssMb} MB`,
    );
    assert.equal(kills, KILLS);
    assert.ok(repeated <= kills * MAX_REPEATED_PER_KILL, `${repeated} repeated`);
    assert.deepEqual(secret.requests, []);
    assert.deepEqual(
      pages.filter((path) => /^\/(private|calendar)/.test(path)),
      [],
    );
    assert.equal((await send('GET', `/knowledge-bases/${base}`)).document_count, PAGES);
    assert.ok(maxRssMb < MAX_RSS_MB, `${maxRssMb} MB`);
  });
});

/** Page of a path: a tree of pages with loops, traps, duplicates, broken links, slow pages and private redirects. */
async function pageAt(path: string, secretUrl: string): Promise<SitePage> {
  if (path === '/robots.txt') return { body: 'User-agent: *\nDisallow: /private', type: 'text/plain' };
  const [, kind = 'p', id = '0'] = /^\/(\w+)\/(\d+)/.exec(path) ?? (path === '/' ? [] : ['', 'missing']);
  const number = Number(id);
  if (kind === 'away') return { status: 302, headers: { location: `${secretUrl}/` } };
  if (kind === 'loop') return { status: 302, headers: { location: `/loop/${(number + 1) % 3}` } };
  if (kind === 'p' && number % 100 === 99) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  if (kind === 'copy' || kind === 'p') return { body: treePage(number) };
  return { status: 404, body: 'not found' };
}

function treePage(number: number): string {
  const children = Array.from({ length: LINKS }, (_, i) => number * LINKS + i + 1).filter((child) => child < PAGES);
  const links = [
    ...children.map((child) => `/p/${child}`),
    ...(number % 10 === 0 ? [`/copy/${number}`, `/p/${number}?utm_source=x`, '/', `/missing${number}`] : []),
    ...(number % 50 === 0 ? [`/away/${number}`, '/loop/0', `/calendar/${number}`, `/private/${number}`] : []),
  ];
  const text = `Document number ${number} of the generated site describes item ${number * 7919}.`;
  return html(`Page ${number}`, text, links);
}

function rssMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
