import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Type } from 'typebox';
import { sendForm, splitForm } from '../../test/forms.ts';
import { assertError, useApi } from '../../test/harness.ts';
import { FailedStatement } from '../db/failed-statement.ts';
import { explainRejectedWrite } from '../lib/store-unavailable.ts';

/** Sends raw bytes and returns everything received until the server closes the connection. */
function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

/** Parses status and error code of a raw response. */
function statusAndCode(raw: string): [number, string] {
  const body = raw.slice(raw.indexOf('\r\n\r\n') + 4);
  return [Number(raw.split(' ')[1]), JSON.parse(body).error.code];
}

const withCode = (code: string) => Object.assign(new Error('no space left in /secret/folder'), { code });
/** Errors of writes to the database, to files and to the index that a disk rejects. */
const REJECTED_WRITES = [
  ...['53100', '58030', '25006'].map((code) => new FailedStatement('insert', withCode(code))),
  ...['ENOSPC', 'EROFS', 'EDQUOT', 'Unknown system error -122', 'Unknown system error -69'].map((code) =>
    explainRejectedWrite('The folder', withCode(code)),
  ),
];

describe('errors of Fastify and Node', () => {
  const api = useApi({
    config: { bodyLimitBytes: 2048 },
    extend: (app) => {
      app.get('/v1/disconnected', { schema: { response: { 200: Type.Object({}) } } }, async () => {
        throw new FailedStatement('select 1', Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' }));
      });
      for (const [at, error] of REJECTED_WRITES.entries()) {
        app.get(`/v1/rejected-write-${at}`, { schema: { response: { 200: Type.Object({}) } } }, async () => {
          throw error;
        });
      }
      app.get('/v1/broken', { schema: { response: { 200: Type.Object({}) } } }, async () => {
        throw new Error('the operator should know: hunter2');
      });
    },
  });
  const path = '/v1/chat/completions';

  it('503 with Retry-After while the database does not answer', async () => {
    const answer = await api.send('GET', '/v1/disconnected');
    assertError(answer, 503, 'engine_unavailable');
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.doesNotMatch(answer.text, /ENOENT/);
  });

  it('503 with Retry-After and a reason while a disk rejects writes', async () => {
    for (const at of REJECTED_WRITES.keys()) {
      const answer = await api.send('GET', `/v1/rejected-write-${at}`);
      assertError(answer, 503, 'engine_unavailable');
      assert.equal(answer.headers.get('retry-after'), '5');
      assert.match(answer.json.error.message, /disk is full or not writable/);
      assert.doesNotMatch(answer.text, /secret/);
    }
  });

  it('404 unknown_url for an unknown path, with or without a key', async () => {
    assertError(await api.send('GET', '/v1/nothing'), 404, 'unknown_url');
    assertError(await api.send('GET', '/console', { key: null }), 404, 'unknown_url');
  });

  it('404 unknown_url for a path that cannot be decoded', async () => {
    assertError(await api.send('GET', '/v1/models/%ff'), 404, 'unknown_url');
  });

  it('404 unknown_url for a path traversal below /docs', async () => {
    const raw = await exchange(
      api.url,
      'GET /docs/static/../../../package.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    assert.deepEqual(statusAndCode(raw), [404, 'unknown_url']);
  });

  it('405 method_not_allowed with Allow for a known path', async () => {
    const answer = await api.send('DELETE', path);
    assertError(answer, 405, 'method_not_allowed');
    assert.equal(answer.headers.get('allow'), 'POST');
    assert.equal((await api.send('PUT', '/v1/models/general-8b', { body: {} })).headers.get('allow'), 'GET, HEAD');
  });

  it('400 invalid_json for a body that is not JSON, or is empty', async () => {
    for (const body of ['{', '{"a":1}}', 'nonsense', '']) {
      assertError(await api.send('POST', path, { body }), 400, 'invalid_json');
    }
  });

  it('400 invalid_value with the path of a member name that sets a prototype', async () => {
    for (const [body, param] of [
      ['{"__proto__": {"x": 1}}', '__proto__'],
      ['{"metadata": {"a": [{"__pro\\u0074o__": 1}]}}', 'metadata.a.0.__proto__'],
      ['{"constructor": {"prototype": {}}}', 'constructor'],
    ] as const) {
      assertError(await api.send('POST', path, { body }), 400, 'invalid_value', param);
    }
  });

  it('400 for a JSON body that is not an object', async () => {
    for (const body of ['[]', '"text"', '3', 'null', 'true']) {
      assertError(await api.send('POST', path, { body }), 400, 'invalid_value', 'body');
    }
  });

  it('200 for JSON as text/json, as some clients name it', async () => {
    const body = JSON.stringify({ model: 'general-8b', messages: [{ role: 'user', content: 'Hi \u{1f600}' }] });
    for (const type of ['text/json', 'text/json; charset=utf-8', 'Text/JSON', 'application/json']) {
      const answer = await api.send('POST', path, { body, headers: { 'content-type': type } });
      assert.equal(answer.status, 200);
      const broken = await api.send('POST', path, { body: '{', headers: { 'content-type': type } });
      assertError(broken, 400, 'invalid_json');
    }
  });

  it('415 unsupported_media_type for another content type or none', async () => {
    const body = JSON.stringify({ model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] });
    for (const type of [
      'text/plain',
      'text/plain;charset=UTF-8',
      'text/csv',
      'text/jsonl',
      'application/x-www-form-urlencoded',
    ]) {
      for (const [method, url] of [
        ['POST', path],
        ['POST', '/v1/knowledge-bases'],
        ['PATCH', '/v1/knowledge-bases/x'],
        ['POST', '/v1/knowledge-bases/x/data-sources/y/sync'],
      ] as const) {
        const answer = await api.send(method, url, { body, headers: { 'content-type': type } });
        assertError(answer, 415, 'unsupported_media_type');
        assert.match(answer.text, new RegExp(`as application/json, not as '${type}'`));
      }
    }
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\nconnection: close\r\n`;
    const raw = await exchange(api.url, `${head}content-length: ${body.length}\r\n\r\n${body}`);
    assert.deepEqual(statusAndCode(raw), [415, 'unsupported_media_type']);
    assert.match(raw, /Send the body as application\/json, and name that type in the header 'Content-Type'\./);
  });

  it('413 request_too_large beyond the limit, and not one byte before it', async () => {
    const body = JSON.stringify({ model: 'general-8b', messages: [{ role: 'user', content: '' }] });
    const filled = (bytes: number) => body.replace('""', `"${'x'.repeat(bytes - body.length)}"`);
    assert.equal((await api.send('POST', path, { body: filled(2048) })).status, 200);
    assertError(await api.send('POST', path, { body: filled(2049) }), 413, 'request_too_large');
  });

  it('431 headers_too_large when the headers overflow', async () => {
    const raw = await exchange(api.url, `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`);
    assert.match(raw, /^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
    assert.deepEqual(statusAndCode(raw), [431, 'headers_too_large']);
    assert.match(raw, /x-request-id: req_/);
  });

  it('400 for bytes that are not HTTP', async () => {
    assert.deepEqual(statusAndCode(await exchange(api.url, 'HELLO\r\n\r\n')), [400, 'invalid_value']);
  });

  it('500 server_error without the cause', async () => {
    const answer = await api.send('GET', '/v1/broken');
    assertError(answer, 500, 'server_error');
    assert.doesNotMatch(answer.text, /hunter2/);
  });

  it('every response has a request id, rate-limit headers and security headers', async () => {
    for (const [method, url, key] of [
      ['GET', '/v1/models', api.key],
      ['GET', '/v1/models', null],
      ['GET', '/v1/nothing', null],
      ['POST', path, api.key],
      ['GET', '/healthz', null],
    ] as const) {
      const { headers, status } = await api.send(method, url, { key });
      assert.match(headers.get('x-request-id') ?? '', /^req_[0-9a-z]{26}$/, `${method} ${url} ${status}`);
      for (const kind of ['requests', 'tokens']) {
        for (const part of ['limit', 'remaining', 'reset']) {
          assert.match(headers.get(`x-ratelimit-${part}-${kind}`) ?? '', /^\d+s?$/, `${method} ${url} ${status}`);
        }
      }
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
    }
  });

  it('ignores a request id sent by the caller', async () => {
    const { headers } = await api.send('GET', '/v1/models', { headers: { 'x-request-id': 'mine' } });
    assert.match(headers.get('x-request-id') ?? '', /^req_/);
  });

  it('accepts repeated slashes in a path', async () => {
    for (const path of ['//v1/models', '/v1//models', '/v1/models//'])
      assert.equal((await api.send('GET', path)).status, 200, path);
  });

  it('415 for a compressed body', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const answer = await api.send('POST', '/v1/chat/completions', { headers, body: { model: 'general-8b' } });
    assertError(answer, 415, 'unsupported_media_type', 'content-encoding');
  });

  it('CORS is off unless origins are configured', async () => {
    const answer = await api.send('GET', '/v1/models', { headers: { origin: 'https://app.example' } });
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });
});

describe('an incomplete request', () => {
  // Own server: on a busy machine, requests of other tests may exceed the short timeout.
  const api = useApi({ timeouts: { requestTimeoutMs: 300 } });

  it('408 request_timeout', async () => {
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\n`;
    const raw = await exchange(api.url, `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"mod`);
    assert.deepEqual(statusAndCode(raw), [408, 'request_timeout']);
  });

  it('an upload may take longer than the request timeout while bytes arrive', async () => {
    const slowly = async function* () {
      for (const part of splitForm('a.txt', 'knowledge-base')) {
        yield part;
        yield Buffer.from('text');
        // Two checks of the request timeout.
        await delay(800);
      }
    };
    const { status } = await sendForm(`${api.url}/v1/files`, slowly(), { key: api.key });
    assert.equal(status, 200);
  });
});

describe('CORS', () => {
  const open = useApi({ config: { corsOrigins: ['https://app.example'] } });

  it('allows only configured origins and their preflights', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const preflight = await open.send('OPTIONS', '/v1/chat/completions', { headers, key: null });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://app.example');
    const other = await open.send('GET', '/v1/models', { headers: { origin: 'https://evil.example' } });
    assert.notEqual(other.headers.get('access-control-allow-origin'), 'https://evil.example');
  });

  it('lets scripts of allowed origins read the headers of limits and caches', async () => {
    const { headers } = await open.send('GET', '/v1/models', { headers: { origin: 'https://app.example' } });
    assert.match(headers.get('access-control-expose-headers') ?? '', /x-request-id.*x-cache-status.*retry-after/);
  });

  it('allows the methods of all routes', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'PATCH' };
    const { headers: allowed } = await open.send('OPTIONS', '/v1/knowledge-bases/kb_x', { headers, key: null });
    assert.equal(allowed.get('access-control-allow-methods'), 'GET, HEAD, POST, PUT, PATCH, DELETE');
    assert.match(allowed.get('x-request-id') ?? '', /^req_/);
  });

  it('answers an OPTIONS request that is no preflight with an error of the catalogue', async () => {
    const param = 'access-control-request-method';
    assertError(await open.send('OPTIONS', '/v1/models', { key: null }), 400, 'missing_required_field', param);
  });
});
