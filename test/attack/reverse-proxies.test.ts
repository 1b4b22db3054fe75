import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../deadline.ts';
import { startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { newDataDir, type Service, startService, until } from '../spawned-service.ts';

const HOST = 'quire.example.com';
const NEVER_ENDS =
  'data: {"id":"a","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';

/** Where a proxy listens, what it forwards to, and its certificate. */
interface Place {
  folder: string;
  port: number;
  target: string;
}

/** A proxy with our example configuration, changed in its addresses and files only. */
interface Proxy {
  /** Command line that checks the configuration, and the one that runs it in the foreground. */
  check: readonly string[];
  run: readonly string[];
}

const example = (path: string) => readFileSync(fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url)), 'utf8');

function nginx({ folder, port, target }: Place): Proxy {
  const site = example('nginx/quire.conf')
    .replaceAll(/^ *listen \[::\].*$/gm, '')
    .replace('listen 80;', `listen unix:${folder}/redirect.sock;`)
    .replace('listen 443 ', `listen 127.0.0.1:${port} `)
    .replaceAll(`/etc/letsencrypt/live/${HOST}`, folder)
    .replace('127.0.0.1:8080', target);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const main = `pid ${folder}/pid; daemon off; master_process off; error_log stderr; events {}\nhttp { access_log off; ${temporary.join(' ')}\n${site}}`;
  writeFileSync(join(folder, 'nginx.conf'), main);
  const command = ['nginx', '-c', join(folder, 'nginx.conf')];
  return { check: [...command, '-t'], run: command };
}

function caddy({ folder, port, target }: Place): Proxy {
  const site = example('caddy/Caddyfile')
    .replace(`${HOST} {`, `https://${HOST}:${port} {\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem`)
    .replace('127.0.0.1:8080', target);
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
  const options = ['--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  return { check: ['caddy', 'validate', ...options], run: ['caddy', 'run', ...options] };
}

const PROXIES = { nginx, caddy };

const isInstalled = (command: string, flag: string) => spawnSync(command, [flag]).status === 0;

for (const [name, configure] of Object.entries(PROXIES)) {
  const skip = !isInstalled(name, name === 'nginx' ? '-v' : 'version') || !isInstalled('openssl', 'version');
  describe(`${name} with the configuration of deploy/${name}`, {
    skip: skip && `${name} or openssl is not installed`,
  }, () => {
    let upstream: TestServer;
    let service: Service;
    let proxy: ChildProcess;
    let port = 0;
    let certificate = '';
    let emails = 0;
    before(async () => {
      upstream = await startServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(NEVER_ENDS);
      });
      service = await startService({
        env: { QUIRE_UPSTREAM_URL: upstream.baseUrl, QUIRE_TRUSTED_PROXIES: '127.0.0.1' },
      });
      const folder = newDataDir();
      makeCertificate(folder);
      certificate = readFileSync(join(folder, 'fullchain.pem'), 'utf8');
      port = await freePort();
      const { check, run } = configure({ folder, port, target: new URL(service.url).host });
      const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      const checked = spawnSync(check[0] as string, check.slice(1), { env, encoding: 'utf8' });
      assert.equal(checked.status, 0, checked.stderr);
      proxy = spawn(run[0] as string, run.slice(1), { env, stdio: 'ignore' });
      await until(async () => (await get('/healthz').catch(() => null)) === 200);
    });
    after(async () => {
      proxy.kill('SIGKILL');
      await once(proxy, 'exit');
      await service.kill();
      await upstream.close();
    });

    const send = (path: string, method = 'GET', { localAddress = '127.0.0.1', headers = {} } = {}) =>
      request({
        host: '127.0.0.1',
        port,
        localAddress,
        path,
        method,
        servername: HOST,
        ca: certificate,
        agent: false,
        headers: {
          host: `${HOST}:${port}`,
          authorization: `Bearer ${service.key}`,
          'content-type': 'application/json',
          ...headers,
        },
      });

    async function get(path: string): Promise<number | undefined> {
      const [response] = await once(send(path).end(), 'response');
      response.resume();
      return response.statusCode;
    }

    it('passes tokens on as they arrive, and a disconnect of the client to the model server', async () => {
      const call = send('/v1/chat/completions', 'POST');
      call.on('error', () => undefined);
      const messages = [{ role: 'user', content: 'Hi' }];
      call.end(JSON.stringify({ model: 'general-8b', stream: true, messages }));
      const [response] = await withDeadline('the response', once(call, 'response'));
      response.on('error', () => undefined);
      let text = '';
      response.on('data', (bytes: Buffer) => {
        text += bytes;
      });
      await until(() => text.includes('"content":"x"'));
      assert.equal(upstream.running(), 1);
      call.destroy();
      await withDeadline('the disconnect', upstream.left(1));
    });

    /** Status of a wrong attempt to sign in, from an address of the loopback network. */
    async function signIn(localAddress: string, headers = {}): Promise<number | undefined> {
      const call = send('/v1/session', 'POST', { localAddress, headers });
      call.end(JSON.stringify({ email: `ada${emails}@example.com`, password: 'a wrong one' }));
      const [response] = await once(call, 'response');
      response.resume();
      return response.statusCode;
    }

    it('forwards the port, so that the console at another port than 443 is the same origin', async () => {
      assert.equal(await signIn('127.0.0.4', { origin: `https://${HOST}:${port}` }), 401);
      assert.equal(await signIn('127.0.0.4', { origin: `https://${HOST}` }), 403);
    });

    it('names the client, whatever it sends, so that one client locks nobody else out', async () => {
      emails += 1;
      const guess = (attempt: number) => signIn('127.0.0.2', { 'x-forwarded-for': `203.0.113.${attempt}` });
      const statuses = await Promise.all(Array.from({ length: 10 }, (_, attempt) => guess(attempt)));
      assert.ok(statuses.includes(429), statuses.join(' '));
      assert.equal(await signIn('127.0.0.3'), 401);
    });

    it('hides the metrics', async () => {
      assert.equal(await get('/metrics'), 404);
    });
  });
}

/** A certificate of `HOST` that signs itself. */
function makeCertificate(folder: string): void {
  const files = ['-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')];
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`];
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...options, ...files, ...subject]);
  assert.equal(status, 0, String(stderr));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
