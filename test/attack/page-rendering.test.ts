import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { PageRenderer, type PageRendererOptions } from '../../src/connectors/browser/page-renderer.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { CHROMIUM_PATH, processesWith, SKIP_WITHOUT_CHROMIUM } from '../fixtures/chromium.ts';
import { html, type SiteServer, startSite } from '../fixtures/site-server.ts';
import { killProcesses } from '../spawned-service.ts';
import { useSync } from '../sync.ts';

/** Time for processes to end on a busy machine. */
const EXIT_MS = 15_000;
const js = (body: string) => ({ body, type: 'text/javascript' });
const shell = (script: string, title = 'App') =>
  `<!doctype html><html><head><title>${title}</title><link rel="stylesheet" href="/app.css"></head><body><div id="root"></div><script src="${script}"></script></body></html>`;

describe('a crawl with QUIRE_CHROMIUM_PATH', { skip: SKIP_WITHOUT_CHROMIUM }, () => {
  const { create } = useSync({ chromiumPath: CHROMIUM_PATH });
  let site: SiteServer;
  before(async () => {
    site = await startSite();
  });
  after(() => site.close());
  const crawl = (pages: Record<string, Parameters<SiteServer['pages']['set']>[1]>, more: object = {}) => {
    site.pages = new Map(Object.entries(pages));
    site.requests.length = 0;
    return create({ type: 'web_crawl', config: { urls: [`${site.url}/`], requests_per_second: 50, ...more } });
  };
  const APP = `
    const root = document.getElementById('root');
    const { text, links } = await (await fetch('/data' + location.pathname, { headers: { 'x-app': '1' } })).json();
    document.title = 'App ' + location.pathname;
    root.innerHTML = '<main><h1>Title</h1><p>' + text.repeat(8) + '</p>' + links.map((l) => '<a href="' + l + '">' + l + '</a>').join('') + '</main>';`;
  const data = (text: string, links: string[] = []) => ({
    body: JSON.stringify({ text, links }),
    type: 'application/json',
  });

  it('ingests the text and follows the links that scripts write, sees changes, and requests a script once', async () => {
    const app = shell('/app.js').replace('<script ', '<script type="module" ');
    const source = await crawl({
      '/': app,
      '/two': app,
      '/plain': html('Plain', 'Basalt without scripts.'),
      '/app.js': js(APP),
      '/data/': data('Granite from data. ', ['/two', '/plain']),
      '/data/two': data('Second screen on copper. '),
    });
    assert.deepEqual(
      [source.first.status, source.first.documents_new, source.first.documents_failed],
      ['completed', 3, 0],
    );
    assert.deepEqual(
      (await source.documents()).map(({ name }) => name),
      ['App /', 'App /two', 'Plain'],
    );
    assert.equal((await source.find('granite')).length, 1);
    assert.equal((await source.find('copper'))[0].metadata.url, `${site.url}/two`);
    assert.equal(site.requests.filter((path) => path === '/app.js').length, 1);
    assert.ok(!site.requests.includes('/app.css'), 'style sheets are not requested');

    site.pages.set('/data/two', data('Now it is about salmon. '));
    const synced = await source.sync();
    assert.deepEqual([synced.documents_modified, synced.documents_skipped, synced.documents_deleted], [1, 2, 0]);
    assert.equal((await source.find('salmon')).length, 1);
  });

  it('follows a redirect by a script, within the rules of the crawl', async () => {
    const source = await crawl({
      '/': shell('/go.js'),
      '/go.js': js('location.href = "/target"'),
      '/target': html('Target', 'Marble behind the redirect.'),
    });
    assert.deepEqual(
      (await source.documents()).map(({ name }) => name),
      ['Target'],
    );
  });

  it('reports a page without text, and loads nothing that robots.txt forbids', async () => {
    const source = await crawl({
      '/': html('Home', 'Start.', ['/empty', '/closed']),
      '/robots.txt': { body: 'User-agent: *\nDisallow: /private', type: 'text/plain' },
      '/empty': shell('/nothing.js'),
      '/nothing.js': js('void 0'),
      '/closed': shell('/private/app.js'),
      '/private/app.js': js('document.body.textContent = "x".repeat(500)'),
    });
    const failed = source.first.document_details.filter(({ status }: { status: string }) => status === 'failed');
    assert.deepEqual(
      failed.map(({ error }: { error: { code: string } }) => error.code),
      ['no_text', 'no_text'],
    );
    assert.match(failed[0].error.message, /although its JavaScript was run/);
    assert.ok(!site.requests.some((path) => path.startsWith('/private')));
  });
});

describe('a page that is rendered', { skip: SKIP_WITHOUT_CHROMIUM }, () => {
  const { create } = useSync({ chromiumPath: CHROMIUM_PATH });
  const hits: string[] = [];
  let site: SiteServer;
  let tcp: Server;
  let udp: Socket;
  before(async () => {
    site = await startSite();
    tcp = createServer((socket) => {
      hits.push('tcp');
      socket.destroy();
    }).listen(0, '127.0.0.2');
    udp = createSocket('udp4').on('message', (message) => hits.push(`udp ${message.length}`));
    udp.bind(0, '127.0.0.2');
    await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
  });
  after(() => {
    site.close();
    tcp.close();
    udp.close();
  });

  it('connects to no private address: by URL, redirect, socket, frame, worker, beacon, hint or WebRTC', async () => {
    const { port } = tcp.address() as { port: number };
    const secret = `127.0.0.2:${port}`;
    site.pages.set(
      '/',
      shell('/evil.js').replace(
        '<link',
        `<link rel="preconnect" href="http://${secret}"><link rel="prefetch" href="http://${secret}/p"><link`,
      ),
    );
    site.pages.set('/away', { status: 302, headers: { location: `http://${secret}/away` } });
    site.pages.set('/frame', { body: `<script src="http://${secret}/frame.js"></script>` });
    site.pages.set(
      '/evil.js',
      js(`
      const attempts = [
        () => fetch('http://${secret}/fetch'), () => fetch('/away'), () => fetch('http://${secret}/k', { keepalive: true }),
        () => fetch('http://${secret}/post', { method: 'POST', mode: 'no-cors', body: 'x' }),
        () => navigator.sendBeacon('http://${secret}/beacon', 'x'), () => new WebSocket('ws://${secret}/'),
        () => new EventSource('http://${secret}/events'), () => { new Image().src = 'http://${secret}/image'; },
        () => open('http://${secret}/popup'), () => import('http://${secret}/module.js'),
        () => new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://${secret}/w'); fetch('http://${secret}/w')"]))),
        () => new WebTransport('https://127.0.0.2:${udp.address().port}/').ready,
        () => { const f = document.createElement('iframe'); f.src = 'http://${secret}/frame'; document.body.append(f); },
        () => { const f = document.createElement('iframe'); f.srcdoc = '<script src="http://${secret}/srcdoc.js"><' + '/script>'; document.body.append(f); },
        () => { const s = document.createElement('script'); s.src = 'http://[::ffff:127.0.0.2]:${port}/mapped.js'; document.head.append(s); },
        () => navigator.serviceWorker.register('/away'),
        async () => {
          const urls = ['stun:127.0.0.2:${udp.address().port}', 'turn:127.0.0.2:${udp.address().port}', 'turn:${secret}?transport=tcp'];
          const peer = new RTCPeerConnection({ iceServers: urls.map((url) => ({ urls: url, username: 'a', credential: 'b' })) });
          peer.createDataChannel('x');
          await peer.setLocalDescription(await peer.createOffer());
        },
      ];
      for (const attempt of attempts) { try { Promise.resolve(attempt()).catch(() => {}); } catch {} }
      document.getElementById('root').textContent = 'Rendered with ' + attempts.length + ' attempts. ' + 'Text. '.repeat(40);
      // Keeps the page open for the slower attempts.
      const end = Date.now() + 3000;
      const timer = setInterval(() => { if (Date.now() > end) clearInterval(timer); else fetch('/tick'); }, 200);
    `),
    );
    const source = await create({ type: 'web_crawl', config: { urls: [`${site.url}/`] } });
    assert.equal((await source.find('rendered attempts')).length, 1);
    assert.ok(site.requests.includes('/away'), 'the redirect was requested');
    assert.deepEqual(hits, []);
  });
});

describe('PageRenderer', { skip: SKIP_WITHOUT_CHROMIUM }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-render-'));
  const { signal } = new AbortController();
  let renderer: PageRenderer;
  const start = (limits: PageRendererOptions['limits'] = {}) => {
    const logger = createLogger('silent');
    renderer = new PageRenderer({ executablePath: CHROMIUM_PATH ?? '', folder, logger, limits });
  };
  afterEach(() => renderer?.close());
  after(() => rmSync(folder, { recursive: true, force: true }));
  const render = (script: string, organizationId = 'org_1') => {
    const body = Buffer.from(`<!doctype html><body><script>${script}</script>`);
    const document = { url: 'https://site.example/', body, mediaType: 'text/html' };
    const load = async () => null;
    return renderer.render({ document, load, userAgent: 'test', organizationId }, signal);
  };
  const profiles = () => readdirSync(folder);

  it('ends an endless script at the time limit, and renders the next page in another browser', async () => {
    start({ pageTimeoutMs: 4_000 });
    await assert.rejects(render('for (;;) {}'), { code: 'timeout' });
    const { html: rendered } = await render('document.body.append("after " + navigator.userAgent)');
    assert.match(rendered, /after test/);
  });

  it('kills a browser above its memory limit, and fails the page only', async () => {
    start({ memoryBytes: 500_000_000 });
    const hog =
      'const all = []; setInterval(() => { all.push(new Uint8Array(2e7).fill(1)); fetch("/x").catch(() => {}); }, 20)';
    await assert.rejects(render(hog), { code: 'server_error', message: /memory/ });
    assert.match((await render('document.body.append("next")')).html, /next/);
  });

  it('renders once more when the browser is killed', async () => {
    start();
    await render('1');
    const [profile = ''] = profiles();
    const rendering = render(
      'let i = 0; const t = setInterval(() => { if (i++ > 20) clearInterval(t); else fetch("/x").catch(() => {}); document.body.textContent = "tick " + i; }, 100)',
    );
    await new Promise((resolve) => setTimeout(resolve, 700));
    killProcesses(processesWith(profile));
    assert.match((await rendering).html, /tick/);
  });

  it('replaces a browser after its number of pages, and ends an idle one', async () => {
    start({ pagesPerBrowser: 2, idleMs: 300 });
    const seen = new Set<string>();
    for (let i = 0; i < 4; i++) {
      await render('1');
      for (const name of profiles()) seen.add(name);
    }
    assert.equal(seen.size, 2);
    await until(() => profiles().length === 0 && processesWith(folder).length === 0);
  });

  it('rejects a page that is too large', async () => {
    start();
    await assert.rejects(render('document.body.textContent = "x".repeat(9e6)'), { code: 'too_large' });
  });

  it('fails with connector_unavailable when the program does not start', async () => {
    renderer = new PageRenderer({ executablePath: '/nonexistent', folder, logger: createLogger('silent') });
    await assert.rejects(render('1'), { code: 'connector_unavailable' });
  });

  it('ends with a process that is killed', async () => {
    const script = new URL('../fixtures/rendering-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, folder, CHROMIUM_PATH ?? ''], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    assert.ok(processesWith(`${folder}/chromium-`).length > 1);
    child.kill('SIGKILL');
    await until(() => processesWith(`${folder}/chromium-`).length === 0);
  });
});

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + EXIT_MS;
  while (!condition()) {
    assert.ok(performance.now() < end, 'the processes did not end');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
