import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertError, useApi } from '../../test/harness.ts';

const PAGE = '<!doctype html><title>Console</title>';
const SCRIPT = 'console.log(1)';

function buildConsole(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quire-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>');
  writeFileSync(join(folder, 'assets', 'index-abc.js'), SCRIPT);
  writeFileSync(join(folder, 'assets', 'index-abc.js.gz'), gzipSync(SCRIPT));
  return folder;
}

describe('the console', () => {
  const consoleFolder = buildConsole();
  after(() => rmSync(consoleFolder, { recursive: true }));
  const api = useApi({ consoleFolder });
  const get = (path: string, headers = {}) => fetch(api.url + path, { headers });

  it('answers every path of a page with the same page, and others with 404', async () => {
    for (const path of ['/', '/sign-in', '/knowledge-bases/kb_1/documents/doc_1', '/audit/']) {
      const response = await get(path);
      assert.equal(response.status, 200, path);
      assert.equal(await response.text(), PAGE);
    }
    for (const path of ['/nothing', '/assets/nothing.js', '/assets/../index.html.gz', '/assets/%2e%2e%2fsecret']) {
      assert.equal((await get(path)).status, 404, path);
    }
    assertError(await api.send('GET', '/v1/nothing', { key: null }), 404, 'unknown_url');
  });

  it('allows scripts of its own files only, and no frame', async () => {
    const policy = (await get('/keys')).headers.get('content-security-policy') ?? '';
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
