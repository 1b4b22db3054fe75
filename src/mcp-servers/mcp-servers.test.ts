import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FORECAST, type McpServerDouble, startMcpServer } from '../../test/fixtures/mcp-server.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { calls, playTurns, says } from '../../test/response-turns.ts';
import { auditEvents } from '../audit/tables.ts';
import { McpServerResource } from './schema.ts';
import { mcpServers } from './tables.ts';

const api = useApi({ config: { allowPrivateHosts: ['127.0.0.1'] } });
let server: McpServerDouble;
before(async () => {
  server = await startMcpServer();
});
after(() => server.close());
beforeEach(async () => {
  server.messages.length = 0;
  server.tools = [FORECAST, { ...FORECAST, name: 'tides' }];
  await api.db.sql.delete(mcpServers);
});

const register = async (fields: object = {}, key?: string) =>
  api.send('POST', '/v1/mcp-servers', {
    body: { label: 'weather', url: `${server.url}?key="1"`, ...fields },
    ...(key && { key }),
  });
const respond = (tool: object = {}, key?: string) => {
  playTurns(api.engine, calls(['weather__forecast', { city: 'Oslo' }]), says('Sunny.'));
  const tools = [{ type: 'mcp', server_label: 'weather', ...tool }];
  const body = { model: 'general-8b', input: 'Rain?', tools };
  return api.send('POST', '/v1/responses', { body, ...(key && { key }) });
};
const types = (json: { output: { type: string }[] }) => json.output.map(({ type }) => type);

describe('/v1/mcp-servers', () => {
  it('registers, lists, shows, changes and deletes a server, and never shows its credentials', async () => {
    const secrets = { authorization: 'sealed-token', headers: { 'X-Tenant': 'sealed-"tenant"' } };
    const created = await register({ ...secrets, description: 'Weather of the world' });
    assert.equal(created.status, 200, created.text);
    assertSchema(McpServerResource, created.json);
    const { id } = created.json;
    assert.match(id, /^mcps_/);
    assert.deepEqual(created.json.header_names.toSorted(), ['authorization', 'x-tenant']);
    assert.deepEqual([created.json.allowed_tools, created.json.require_approval], [null, 'always']);
    const path = `/v1/mcp-servers/${id}`;
    assert.deepEqual((await api.send('GET', path)).json, created.json);
    const changed = await api.send('PUT', path, { body: { allowed_tools: ['forecast'], require_approval: 'never' } });
    assertSchema(McpServerResource, changed.json);
    assert.deepEqual(changed.json.allowed_tools, ['forecast']);
    assert.deepEqual(changed.json.header_names, created.json.header_names);
    const list = await api.send('GET', '/v1/mcp-servers');
    assert.deepEqual(list.json.data, [changed.json]);
    const stored = JSON.stringify([
      await api.db.sql.select().from(mcpServers),
      await api.db.sql.select().from(auditEvents),
    ]);
    for (const text of [created.text, changed.text, list.text, stored])
      assert.ok(!text.includes('sealed-'), 'credentials are stored encrypted only');
    const deleted = await api.send('DELETE', path);
    assert.deepEqual(deleted.json, { id, object: 'mcp_server', deleted: true });
    assertError(await api.send('GET', path), 404, 'mcp_server_not_found', 'server_id');
    assertError(await api.send('DELETE', path), 404, 'mcp_server_not_found', 'server_id');
    assertError(await api.send('PUT', path, { body: {} }), 404, 'mcp_server_not_found', 'server_id');
    const events = await api.db.sql.select().from(auditEvents);
    assert.deepEqual(
      events.filter(({ resourceId }) => resourceId === id).map(({ action }) => action),
      ['mcp_server.created', 'mcp_server.updated', 'mcp_server.deleted'],
    );
  });

  const invalid: [object, string, string?][] = [
    [{ label: undefined }, 'label', 'missing_required_field'],
    [{ label: 'two words' }, 'label'],
    [{ url: undefined }, 'url', 'missing_required_field'],
    [{ url: 'file:///etc/passwd' }, 'url'],
    [{ url: 'https://a:b@host/' }, 'url'],
    [{ url: `https://host/${'a'.repeat(2_048)}` }, 'url'],
    [{ description: 'a\u0000b' }, 'description'],
    [{ headers: { connection: 'close' } }, 'headers'],
    [{ authorization: 'a', headers: { authorization: 'b' } }, 'authorization'],
    [{ require_approval: 'sometimes' }, 'require_approval'],
  ];
  for (const [fields, param, code = 'invalid_value'] of invalid) {
    it(`rejects ${JSON.stringify(fields).slice(0, 50)} on creation, and what is there on a change`, async () => {
      assertError(await register(fields), 400, code, param);
      if (code === 'missing_required_field') return;
      const { id } = (await register()).json;
      assertError(await api.send('PUT', `/v1/mcp-servers/${id}`, { body: fields }), 400, code, param);
    });
  }

  it('rejects a label twice, on creation and on a change, but not in another organization', async () => {
    await register();
    assertError(await register(), 400, 'invalid_value', 'label');
    const { id } = (await register({ label: 'other' })).json;
    const path = `/v1/mcp-servers/${id}`;
    assertError(await api.send('PUT', path, { body: { label: 'weather' } }), 400, 'invalid_value', 'label');
    assert.equal((await api.send('PUT', path, { body: { label: 'other' } })).status, 200);
    const { key } = await api.makeKey({ organization: 'Second' });
    assert.equal((await register({}, key)).status, 200);
  });

  it('takes 100 servers of an organization, also of concurrent requests', async () => {
    const { key } = await api.makeKey({ organization: 'Many' });
    for (let i = 0; i < 98; i++) assert.equal((await register({ label: `s${i}` }, key)).status, 200);
    const last = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((label) => register({ label }, key)));
    assert.equal(last.filter(({ status }) => status === 200).length, 2);
    assertError(await register({ label: 'more' }, key), 400, 'invalid_value', 'label');
  });

  it('does not send stored credentials to another host', async () => {
    const { id } = (await register({ authorization: 'token' })).json;
    const path = `/v1/mcp-servers/${id}`;
    const url = 'https://other.example/mcp';
    assertError(await api.send('PUT', path, { body: { url } }), 400, 'invalid_value', 'url');
    assert.equal((await api.send('PUT', path, { body: { url: `${server.url}/v2` } })).status, 200, 'the same host');
    const replaced = await api.send('PUT', path, { body: { url, headers: {} } });
    assert.deepEqual([replaced.json.url, replaced.json.header_names], [url, []]);
  });

  it('is not found by other organizations', async () => {
    const { id } = (await register()).json;
    const { key } = await api.makeKey({ organization: 'Foreign' });
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', {}]] as const) {
      const answer = await api.send(method, `/v1/mcp-servers/${id}`, { key, ...(body && { body }) });
      assertError(answer, 404, 'mcp_server_not_found', 'server_id');
    }
    assert.deepEqual((await api.send('GET', '/v1/mcp-servers', { key })).json.data, []);
    assertError(await respond({}, key), 404, 'mcp_server_not_found', 'tools.0.server_label');
    assertError(await respond({ connector_id: id }, key), 404, 'mcp_server_not_found', 'tools.0.connector_id');
  });
});

describe('a registered server in POST /v1/responses', () => {
  it('is called by its label or id, with its credentials, which the response does not show', async () => {
    const { id } = (await register({ authorization: 'sealed-token', require_approval: 'never' })).json;
    for (const tool of [{}, { connector_id: id }]) {
      server.messages.length = 0;
      const { json, text } = await respond(tool);
      assert.deepEqual(types(json), ['mcp_list_tools', 'mcp_call', 'message']);
      assert.equal(json.output[1].output, 'Sunny in Oslo.');
      assert.ok(server.messages.every(({ headers }) => headers.authorization === 'Bearer sealed-token'));
      assert.equal(json.tools[0].connector_id, id);
      assert.ok(!text.includes('sealed-token') && !text.includes(server.url));
    }
  });

  it('keeps its selection of tools whatever the request allows, and its approval unless the request has one', async () => {
    await register({ allowed_tools: ['tides'], require_approval: 'never' });
    const { json } = await respond({ allowed_tools: ['forecast', 'tides'] });
    assert.deepEqual(
      json.output[0].tools.map(({ name }: { name: string }) => name),
      ['tides'],
    );
    assert.equal(types(json)[1], 'function_call');
    await api.db.sql.delete(mcpServers);
    await register();
    assert.equal(types((await respond()).json)[1], 'mcp_approval_request');
    assert.equal(types((await respond({ require_approval: 'never' })).json)[1], 'mcp_call');
  });

  it('sends its credentials to no other address', async () => {
    await register({ authorization: 'sealed-token', require_approval: 'never' });
    const other = await startMcpServer();
    try {
      await respond({ server_url: other.url, require_approval: 'never' });
      assert.ok(other.messages.length > 0);
      assert.ok(other.messages.every(({ headers }) => headers.authorization === undefined));
    } finally {
      await other.close();
    }
    const { id } = (await api.send('GET', '/v1/mcp-servers')).json.data[0];
    const both = await respond({ connector_id: id, server_url: server.url });
    assertError(both, 400, 'invalid_value', 'tools.0.connector_id');
  });
});
