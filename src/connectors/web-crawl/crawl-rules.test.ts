import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HostPace } from '../http/host-pace.ts';
import { compileGlob } from './glob.ts';
import { pageExtension, pageFilename } from './page-format.ts';
import { readPage } from './read-page.ts';
import { parseSitemap } from './robots.ts';
import { createUrlRules, normalizeUrl, parseSite } from './url-rules.ts';

describe('compileGlob', () => {
  const cases: [pattern: string, url: string, matches: boolean][] = [
    ['https://a.example/**', 'https://a.example/x/y?q=1', true],
    ['https://a.example/*', 'https://a.example/x/y', false],
    ['https://a.example/*', 'https://a.example/x', true],
    ['**/docs/**', 'https://a.example/docs/', true],
    ['**/docs/**', 'https://a.example/docs', false],
    ['**.pdf', 'https://a.example/x/y.pdf', true],
    ['**/v?/**', 'https://a.example/v2/x', true],
    ['**/v?/**', 'https://a.example/v22/x', false],
    ['**/[a-c]', 'https://a.example/b', true],
    ['**/[!a-c]', 'https://a.example/b', false],
    ['**/[]x]', 'https://a.example/]', true],
    ['**/{de,en}/**', 'https://a.example/en/x', true],
    ['**/{de,en}/**', 'https://a.example/fr/x', false],
    ['**/{a,}b', 'https://a.example/b', true],
    ['**/\\*', 'https://a.example/*', true],
    ['**/\\*', 'https://a.example/x', false],
    ['', '', true],
    ['a,b', 'a,b', true],
  ];
  for (const [pattern, url, matches] of cases) {
    it(`${pattern} ${matches ? 'matches' : 'does not match'} ${url}`, () =>
      assert.equal(compileGlob(pattern)(url), matches));
  }

  it('matches a hostile pattern in bounded time', () => {
    assert.equal(compileGlob('**a'.repeat(340))(`${'a'.repeat(2047)}b`), false);
  });
});

describe('URLs of a crawl', () => {
  it('are normalized', () => {
    const cases: [string, string | null][] = [
      ['HTTP://A.Example:80/x/../y#part', 'http://a.example/y'],
      ['/x?utm_source=a&q=1', 'https://b.example/x?q=1'],
      ['?q=%20+', 'https://b.example/d/?q=%20+'],
      ['https://user:pass@a.example./', 'https://a.example/'],
      ['mailto:a@b.example', null],
      ['javascript:alert(1)', null],
      ['http://[', null],
      [`/${'x'.repeat(2048)}`, null],
    ];
    for (const [href, expected] of cases) assert.equal(normalizeUrl(href, 'https://b.example/d/'), expected, href);
  });

  it('stay on the hosts of the start URLs, with and without www', () => {
    const rules = createUrlRules(new Set(['https://www.a.example/x', 'http://b.example:8080/'].map(parseSite)), {});
    const follows = (url: string) => rules.follows(url);
    assert.ok(['https://a.example/y', 'http://www.a.example/', 'http://b.example:8080/z'].every(follows));
    const others = [
      'https://sub.a.example/',
      'http://b.example/',
      'https://a.example.evil.example/',
      'https://a.example/x.png',
    ];
    assert.ok(!others.some(follows));
  });

  it('have a format by media type, else by extension', () => {
    const url = 'https://a.example/files/report.pdf?x=1';
    assert.equal(pageExtension(url, 'application/octet-stream'), 'pdf');
    assert.equal(pageExtension(url, 'text/html; charset=utf-8'), 'html');
    assert.equal(pageExtension('https://a.example/x.md', 'text/plain'), 'md');
    assert.equal(pageExtension('https://a.example/x', 'image/png'), null);
    assert.equal(pageFilename(url, 'pdf'), 'report.pdf');
    assert.equal(pageFilename('https://a.example/', 'html'), 'index.html');
  });
});

describe('a page', () => {
  const read = (html: string) =>
    readPage(Buffer.from(html), { url: 'https://a.example/d/', charset: null }, new AbortController().signal);

  it('has links relative to its base, canonical URL, robots and title', async () => {
    const facts = await read(
      '<base href="/e/"><title> A  &amp; B </title><link rel="canonical" href="c"><meta name="robots" content="noindex,nofollow"><a href="x">1</a><a href="x#y">2</a><a rel="nofollow" href="z">3</a>',
    );
    assert.deepEqual(facts.links, ['https://a.example/e/x']);
    assert.deepEqual([facts.canonical, facts.title], ['https://a.example/e/c', 'A & B']);
    assert.deepEqual([facts.noIndex, facts.noFollow], [true, true]);
  });

  it('has a fingerprint of its visible text', async () => {
    const page = (token: string, text: string) => `<script>${token}</script><p data-x="${token}">${text}</p>`;
    const [a, b, c] = await Promise.all([read(page('1', 'same')), read(page('2', 'same')), read(page('1', 'other'))]);
    assert.equal(a.fingerprint, b.fingerprint);
    assert.notEqual(a.fingerprint, c.fingerprint);
  });
});

describe('parseSitemap', () => {
  it('reads sitemaps, indexes and text', () => {
    const xml = '<?xml version="1.0"?><urlset><url><loc> https://a.example/?a=1&amp;b=2 </loc></url></urlset>';
    assert.deepEqual(parseSitemap(xml), { isIndex: false, urls: ['https://a.example/?a=1&b=2'] });
    const index = '<sitemapindex><sitemap><loc><![CDATA[https://a.example/1.xml]]></loc></sitemap></sitemapindex>';
    assert.deepEqual(parseSitemap(index), { isIndex: true, urls: ['https://a.example/1.xml'] });
    assert.deepEqual(parseSitemap('https://a.example/1\nnot a url\n').urls, ['https://a.example/1']);
  });
});

describe('HostPace', () => {
  const { signal } = new AbortController();
  /** A clock that advances by the delays, and the times at which requests start. */
  const useClock = () => {
    let time = 0;
    const delay = async (ms: number) => {
      time = Math.max(time, time + ms);
    };
    const clock = { now: () => time, delay };
    return { clock, starts: [] as number[], time: () => time };
  };

  it('starts requests at the rate, later ones after a pause, and at the crawl delay', async () => {
    const { clock, starts, time } = useClock();
    const pace = new HostPace(4, 1, clock);
    const start = () => pace.run(async () => void starts.push(time()), signal);
    for (let i = 0; i < 3; i++) await start();
    assert.deepEqual(starts, [0, 250, 500]);
    pace.pause(5_000);
    pace.pause(100);
    await start();
    assert.equal(starts[3], 5_500);
    pace.slowDown(10);
    await start();
    await start();
    assert.deepEqual(starts.slice(4), [5_750, 15_750]);
    pace.slowDown(1_000_000);
    await start();
    await start();
    assert.deepEqual(starts.slice(6), [25_750, 55_750], 'at most 30 seconds apart');
  });

  it('runs as many requests at once as permitted, one at a time with a crawl delay', async () => {
    const { clock } = useClock();
    const pace = new HostPace(1000, 2, clock);
    let running = 0;
    const most = async (count: number) => {
      let max = 0;
      const request = async () => {
        running += 1;
        max = Math.max(max, running);
        await new Promise(setImmediate);
        running -= 1;
      };
      await Promise.all(Array.from({ length: count }, () => pace.run(request, signal)));
      return max;
    };
    assert.equal(await most(6), 2);
    pace.slowDown(0.01);
    assert.equal(await most(4), 1);
  });

  it('rejects with the reason of the signal, also while it waits', async () => {
    const pace = new HostPace(0.001, 1);
    await pace.run(async () => {}, signal);
    const controller = new AbortController();
    const waiting = pace.run(async () => {}, controller.signal);
    controller.abort(new Error('stopped'));
    await assert.rejects(waiting, /stopped|aborted/);
  });
});
