import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useApi } from '../../../test/harness.ts';
import { listRoutes, routeName } from '../../../test/route-table.ts';
import { apiKeys } from '../../accounts/tables.ts';
import { usageRecords } from '../../billing/tables.ts';
import { loadConfig } from '../../config/config.ts';
import { OLLAMA } from './protocol.ts';

describe('requests of this machine without a key', () => {
  const api = useApi();
  let keyId = '';
  let organizationId = '';
  before(async () => {
    ({ id: keyId, organizationId } = await api.makeKey({ organization: 'local', scopes: ['inference'] }));
    Object.assign(api.deps.config, { ollamaKeyId: keyId });
  });

  const request = async (path: string, headers: Record<string, string> = {}, remoteAddress = '127.0.0.1') => {
    const isChat = path === '/api/chat' || path.startsWith('/v1/chat');
    const payload = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }], stream: false };
    const method = isChat ? 'POST' : 'GET';
    const sent = { method, url: path, remoteAddress, ...(isChat && { payload }) } as const;
    return api.app.inject({ ...sent, headers: { host: 'localhost:8080', ...headers } });
  };

  it('act as the configured key, with its scopes and its usage', async () => {
    for (const [host, address] of [
      ['localhost', '127.0.0.1'],
      ['127.0.0.1:8080', '::ffff:127.0.0.1'],
      ['[::1]:8080', '::1'],
    ] as const) {
      const { statusCode, headers } = await request('/api/chat', { host }, address);
      assert.equal(statusCode, 200);
      const records = await api.db.sql.select().from(usageRecords);
      const own = records.filter(({ requestId }) => requestId === headers['x-request-id']);
      assert.deepEqual(
        own.map((record) => [record.keyId, record.organizationId]),
        [[keyId, organizationId]],
      );
    }
    const pull = await api.app.inject({
      method: 'POST',
      url: '/api/pull',
      payload: {},
      headers: { host: 'localhost' },
    });
    assert.deepEqual([pull.statusCode, pull.json().code], [403, 'insufficient_scope']);
  });

  it('need a key when they come from another machine, through a proxy, or by a name of another host', async () => {
    for (const [headers, address] of [
      [{}, '192.168.1.9'],
      [{}, '10.127.0.1'],
      [{ 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1'],
      [{ forwarded: 'for=127.0.0.1' }, '127.0.0.1'],
      [{ via: '1.1 proxy' }, '127.0.0.1'],
      [{ 'x-real-ip': '127.0.0.1' }, '127.0.0.1'],
      [{ 'x-forwarded-host': 'example.com' }, '127.0.0.1'],
      [{ host: 'rebound.example:8080' }, '127.0.0.1'],
      [{ host: 'localhost.example' }, '127.0.0.1'],
      [{ authorization: 'Bearer quire-sk-unknown' }, '127.0.0.1'],
      [{ 'x-api-key': 'quire-sk-unknown' }, '127.0.0.1'],
    ] as const) {
      const { statusCode } = await request('/api/tags', headers, address);
      assert.equal(statusCode, 401, JSON.stringify([headers, address]));
    }
  });

  it('need a key on the routes of all other protocols', async () => {
    const routes = await listRoutes('/');
    const others = routes.filter(({ config }) => config?.scope !== 'public' && config?.protocol !== OLLAMA);
    assert.ok(others.length > 100);
    for (const route of others) {
      const url = route.url.replaceAll(/:\w+/g, 'x');
      const method = route.method as 'GET';
      const { statusCode } = await api.app.inject({ method, url, headers: { host: 'localhost' } });
      assert.equal(statusCode, 401, routeName(route));
    }
  });

  it('get 401 when the configured key is revoked or does not exist', async () => {
    const { id } = await api.makeKey({ expiresAt: new Date(Date.now() - 1) });
    for (const ollamaKeyId of [id, 'key_0']) {
      Object.assign(api.deps.config, { ollamaKeyId });
      const answer = await request('/api/tags');
      assert.deepEqual([answer.statusCode, answer.json().code], [401, 'invalid_api_key']);
    }
    Object.assign(api.deps.config, { ollamaKeyId: keyId });
    assert.equal((await request('/api/tags')).statusCode, 200);
    await api.db.sql.update(apiKeys).set({ revokedAt: new Date() });
    api.authenticator.evict(keyId);
    assert.equal((await request('/api/tags')).statusCode, 401);
  });

  it('get 401 without the setting', async () => {
    Object.assign(api.deps.config, { ollamaKeyId: null });
    assert.equal((await request('/api/tags')).statusCode, 401);
  });

  it('are rejected at the start with settings that let others in', () => {
    const load = (settings: Record<string, string>) => loadConfig({ QUIRE_OLLAMA_KEY_ID: 'key_1', ...settings });
    assert.equal(load({ QUIRE_CORS_ORIGINS: 'http://localhost:3000' }).ollamaKeyId, 'key_1');
    assert.equal(load({ QUIRE_HOST: '::1' }).ollamaKeyId, 'key_1');
    for (const [settings, message] of [
      [{ QUIRE_HOST: '0.0.0.0' }, /QUIRE_HOST is 0\.0\.0\.0: set it to 127\.0\.0\.1\.$/],
      [{ QUIRE_HOST: '127.0.0.1.example' }, /QUIRE_HOST/],
      [{ QUIRE_TRUSTED_PROXIES: '127.0.0.1' }, /QUIRE_TRUSTED_PROXIES/],
      [{ QUIRE_CORS_ORIGINS: 'http://a.example,*' }, /QUIRE_CORS_ORIGINS/],
      [{ QUIRE_OLLAMA_KEY_ID: 'quire-sk-secret' }, /QUIRE_OLLAMA_KEY_ID/],
    ] as const)
      assert.throws(() => load(settings), message);
    assert.equal(loadConfig({ QUIRE_HOST: '0.0.0.0' }).ollamaKeyId, null);
  });
});
