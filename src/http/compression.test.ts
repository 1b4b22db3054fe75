import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Type } from 'typebox';
import { useApi } from '../../test/harness.ts';

const LONG = { text: 'a'.repeat(5_000) };

describe('compression of responses', () => {
  const api = useApi({
    extend: (app) => {
      const schema = { response: { 200: Type.Object({}) } };
      app.get('/v1/long', { schema, config: { scope: 'public' } }, async (_request, reply) => {
        reply.header('vary', 'cookie');
        return LONG;
      });
      app.post('/v1/long', { schema, config: { scope: 'public' } }, async () => LONG);
      app.get('/v1/short', { schema, config: { scope: 'public' } }, async () => ({}));
    },
  });
  const read = async (url: string, headers: Record<string, string>, method: 'GET' | 'POST' = 'GET') => {
    const response = await api.app.inject({ method, url, headers });
    assert.equal(response.statusCode, 200);
    return response;
  };

  it('compresses what browsers read', async () => {
    const response = await read('/v1/long', { cookie: 'a=b', 'accept-encoding': 'gzip, deflate, br' });
    assert.equal(response.headers['content-encoding'], 'gzip');
    assert.equal(response.headers.vary, 'cookie, accept-encoding');
    assert.deepEqual(JSON.parse(gunzipSync(response.rawPayload).toString()), LONG);
    assert.equal(Number(response.headers['content-length']), response.rawPayload.length);
  });

  it('leaves responses to API clients, of changes, and short ones as they are', async () => {
    const encoding = { 'accept-encoding': 'gzip' };
    const cookie = { cookie: 'a=b' };
    for (const response of [
      await read('/v1/long', encoding),
      await read('/v1/long', cookie),
      await read('/v1/long', { ...encoding, ...cookie }, 'POST'),
      await read('/v1/short', { ...encoding, ...cookie }),
    ]) {
      assert.equal(response.headers['content-encoding'], undefined);
      assert.match(response.payload, /^\{/);
    }
  });
});
