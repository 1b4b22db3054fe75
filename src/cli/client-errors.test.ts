import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openApiClient } from './api-client.ts';
import { connectionError } from './client-errors.ts';

describe('errors of the client commands name the next step', () => {
  const servers: { close(): unknown }[] = [];
  after(() => {
    for (const server of servers) server.close();
  });

  const listen = async (server: Server | ReturnType<typeof createTcpServer>) => {
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const serve = (handle: RequestListener) => listen(createServer(handle));
  const page = (status: number, text: string, type = 'text/html'): RequestListener => {
    return (_request, response) => response.writeHead(status, { 'content-type': type }).end(text);
  };
  /** Sends a chat request to the address; returns the message of the error. */
  const fail = async (url: string, model = 'general-8b'): Promise<string> => {
    process.env['QUIRE_URL'] = url;
    process.env['QUIRE_API_KEY'] = 'quire-sk-secret-wxyz';
    const api = await openApiClient();
    return api.send('POST', '/v1/chat/completions', { model }).then(
      () => 'no error',
      (error: Error) => error.message,
    );
  };

  it('no service', async () => {
    const closed = createTcpServer();
    const address = await listen(closed);
    closed.close();
    const message = `No service runs at http://${address}. Start one with 'quire serve', or set QUIRE_URL to the address of a running one.`;
    assert.equal(await fail(`http://${address}`), message);
  });

  it('https on an http port', async () => {
    const address = await serve(page(200, '{}', 'application/json'));
    assert.equal(
      await fail(`https://${address}`),
      `The server at https://${address} speaks http, not https. Set QUIRE_URL to http://${address}.`,
    );
  });

  it('http on an https port', async () => {
    const alert = await listen(createTcpServer((socket) => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46]))));
    assert.match(await fail(`http://${alert}`), new RegExp(`set QUIRE_URL to https://${alert}\\.$`));
    const nginx = await serve(page(400, '<center>The plain HTTP request was sent to HTTPS port</center>'));
    assert.equal(
      await fail(`http://${nginx}`),
      `The server at http://${nginx} speaks https. Set QUIRE_URL to https://${nginx}.`,
    );
  });

  it('HTML of another server, whatever its status', async () => {
    for (const status of [200, 404]) {
      const address = await serve(page(status, '<html>Welcome</html>'));
      assert.equal(
        await fail(`http://${address}`),
        `The server at http://${address} is not Quire: it returned an HTML page (${status}). Set QUIRE_URL to the address of the service.`,
      );
    }
    const proxy = await serve(page(502, '<html>Bad Gateway</html>'));
    assert.match(await fail(`http://${proxy}`), /^The proxy at .* cannot reach the service behind it \(502\)/);
  });

  it('a wrong key, of which only the end is shown', async () => {
    const address = await serve(
      page(401, '{"error": {"message": "No.", "code": "invalid_api_key"}}', 'application/json'),
    );
    assert.equal(
      await fail(`http://${address}`),
      `The service at http://${address} does not accept the API key ending in ...wxyz. Set QUIRE_API_KEY to a valid key; 'quire keys create' makes one.`,
    );
  });

  it('an unknown model, with the most similar one', async () => {
    const error = { error: { message: 'There is no model.', code: 'model_not_found' } };
    const address = await serve((request, response) => {
      const isList = request.url === '/v1/models';
      response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isList ? { data: [{ id: 'general-8b' }, { id: 'code-latest' }] } : error));
    });
    assert.match(
      await fail(`http://${address}`, 'genral8b'),
      / Did you mean 'general-8b'\? 'quire models list' shows all\.$/,
    );
    assert.match(await fail(`http://${address}`, 'xyzzy'), / Models: general-8b, code-latest\.$/);
  });

  it('a certificate that is not trusted, and an unknown host', () => {
    const error = (code: string) => connectionError('https://h', { cause: { code } }).message;
    assert.match(error('DEPTH_ZERO_SELF_SIGNED_CERT'), /Set NODE_EXTRA_CA_CERTS/);
    assert.match(error('ENOTFOUND'), /^The host of https:\/\/h cannot be found\. Check QUIRE_URL/);
  });

  it('a missing key only where a service runs', async () => {
    process.env['QUIRE_API_KEY'] = '';
    process.env['QUIRE_URL'] = `http://${await serve(page(200, '{}', 'application/json'))}`;
    await assert.rejects(
      openApiClient(),
      /Set QUIRE_API_KEY to an API key, or store one with 'quire login'\. .* 'quire keys create' makes one\./,
    );
    const closed = createTcpServer();
    process.env['QUIRE_URL'] = '';
    process.env['QUIRE_DATA_DIR'] = join(tmpdir(), 'quire-no-such-folder');
    process.env['QUIRE_PORT'] = (await listen(closed)).split(':')[1];
    closed.close();
    await assert.rejects(openApiClient(), { message: /^No service runs at http:\/\/127\.0\.0\.1:\d+\./ });
  });
});
