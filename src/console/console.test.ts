import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertError, useApi } from '../../test/harness.ts';

const PAGE = '<!doctype html><title>Console</title>';
/** Headers of a navigation. */
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const SCRIPT = 'console.log(1)';

function buildConsole(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quire-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>');
  mkdirSync(join(folder, 'guide', 'tutorials'), { recursive: true });
  mkdirSync(join(folder, 'guide', 'assets'));
  for (const file of ['index.html', 'tutorials/bot.html', 'assets/guide.js'])
    writeFileSync(join(folder, 'guide', file), file);
  writeFileSync(join(folder, 'assets', 'index-abc.js'), SCRIPT);
  writeFileSync(join(folder, 'assets', 'index-abc.js.gz'), gzipSync(SCRIPT));
  return folder;
}

describe('the console', () => {
  const consoleFolder = buildConsole();
  after(() => rmSync(consoleFolder, { recursive: true }));
  const api = useApi({ consoleFolder });
  const get = (path: string, headers = {}) => fetch(api.url + path, { headers });

  it('answers every path of a page with the same page, and others with that page and 404', async () => {
    for (const path of [
      '/',
      '/start',
      '/chat/a',
      '/requests',
      '/sign-in',
      '/knowledge-bases/kb_1/documents/doc_1',
      '/audit/',
      '/models?a=b',
    ]) {
      const response = await get(path, BROWSER);
      assert.equal(response.status, 200, path);
      assert.equal(await response.text(), PAGE);
    }
    const etag = (await get('/', BROWSER)).headers.get('etag') ?? '';
    for (const path of [
      '/nothing',
      '/v1nothing',
      '/chat/completions',
      '/assets/nothing.js',
      '/assets/../index.html.gz',
    ]) {
      const response = await get(path, { ...BROWSER, 'if-none-match': etag, 'cache-control': 'max-age=0' });
      assert.deepEqual([response.status, response.headers.get('cache-control')], [404, 'no-store'], path);
      assert.equal(await response.text(), PAGE);
      assert.match(response.headers.get('content-security-policy') ?? '', /script-src 'self'/);
      assert.equal((await fetch(api.url + path, { method: 'HEAD', headers: BROWSER })).status, 404);
    }
    assert.equal((await get('/assets/%2e%2e%2fsecret', BROWSER)).status, 404);
    const script = await get('/assets/nothing.js');
    assert.deepEqual([script.status, script.headers.get('cache-control')], [404, 'no-store']);
  });

  it('answers clients of the API with JSON, and says when they have left out /v1', async () => {
    for (const [method, path, accept] of [
      ['GET', '/models', 'application/json'],
      ['GET', '/models', '*/*'],
      ['GET', '/models/general-8b', 'application/json'],
      ['GET', '/files', ''],
      ['POST', '/files', 'text/html'],
      ['POST', '/chat/completions', 'application/json'],
    ] as const) {
      const answer = await api.send(method, path, { headers: { accept } });
      assertError(answer, 404, 'unknown_url');
      assert.match(answer.json.error.message, /the base URL of API clients ends with '\/v1'\.$/, path);
    }
    for (const [path, headers] of [
      ['/nothing', {}],
      ['/keys', { accept: 'image/png' }],
      ['/v1/nothing', BROWSER],
      ['/v1', BROWSER],
      ['//v1/nothing', BROWSER],
    ] as const) {
      const answer = await api.send('GET', path, { key: null, headers });
      assertError(answer, 404, 'unknown_url');
      assert.doesNotMatch(answer.text, /base URL/);
    }
    assertError(await api.send('DELETE', '/v1/models', { headers: BROWSER }), 405, 'method_not_allowed');
    assertError(await api.send('GET', '/v1/chat/completions', { headers: BROWSER }), 405, 'method_not_allowed');
  });

  it('serves the guide without a key, and nothing beside it', async () => {
    const reference = await fetch(`${api.url}/docs`, { redirect: 'manual' });
    assert.deepEqual([reference.status, reference.headers.get('location')], [302, '/docs/guide/api/all']);
    for (const [path, content] of [
      ['/docs/guide', 'index.html'],
      ['/docs/guide/', 'index.html'],
      ['/docs/guide/tutorials/bot', 'tutorials/bot.html'],
      ['/docs/guide/assets/guide.js', 'assets/guide.js'],
    ] as const) {
      const response = await get(path, BROWSER);
      assert.deepEqual([response.status, await response.text()], [200, content], path);
      const policy = response.headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'/);
    }
    for (const path of [
      '/nothing',
      '/tutorials',
      '/tutorials/bot.html',
      '/assets',
      '/..%2findex',
      '/%2e%2e/index',
      '/a\\..\\..\\b',
      '/%00',
    ]) {
      assert.equal((await get(`/docs/guide${path}`)).status, 404, path);
    }
  });

  it('allows scripts of its own files only, and no frame', async () => {
    const policy = (await get('/keys', BROWSER)).headers.get('content-security-policy') ?? '';
    const directives = new Map(
      policy.split('; ').map((each) => [each.split(' ')[0], each.split(' ').slice(1).join(' ')]),
    );
    assert.equal(directives.get('default-src'), "'none'");
    assert.equal(directives.get('script-src'), "'self'");
    assert.equal(directives.get('connect-src'), "'self'");
    assert.equal(directives.get('frame-ancestors'), "'none'");
    assert.equal(directives.get('base-uri'), "'none'");
  });

  it('no response can be framed, sniffed or tell its address to other sites', async () => {
    const paths = ['/', '/keys', '/favicon.svg', '/assets/index-abc.js', '/nothing', '/v1/models', '/v1/nothing'];
    for (const path of [...paths, '/v1/session/oidc/callback', '/docs', '/openapi.json', '/healthz']) {
      const { headers } = await fetch(api.url + path, { redirect: 'manual' });
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/, path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
      assert.equal(headers.get('cross-origin-resource-policy'), 'same-site', path);
      assert.equal(headers.get('access-control-allow-origin'), null, path);
    }
  });

  it('lets browsers keep hashed files for ever, and asks again for the page', async () => {
    const asset = await get('/assets/index-abc.js', { 'accept-encoding': 'gzip' });
    assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(asset.headers.get('content-encoding'), 'gzip');
    // A page loads many files, and each header costs bytes.
    for (const name of ['etag', 'last-modified', 'accept-ranges', 'x-ratelimit-limit-requests'])
      assert.equal(asset.headers.get(name), null, name);
    assert.equal(await asset.text(), SCRIPT);
    const page = await get('/');
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const etag = page.headers.get('etag') ?? '';
    // Without a cache directive, fetch asks for a full response.
    const again = await get('/', { 'if-none-match': etag, 'cache-control': 'max-age=0' });
    assert.equal(again.status, 304);
  });
});

describe('without a build of the console', () => {
  const api = useApi();

  it('/ says how to build it', async () => {
    const { status, text } = await api.send('GET', '/', { key: null });
    assert.equal(status, 200);
    assert.match(text, /^The console is not built: run `npm ci`/);
  });
});
