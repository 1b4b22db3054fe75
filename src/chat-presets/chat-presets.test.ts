import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { FORECAST, type McpServerDouble, startMcpServer, textResult } from '../../test/fixtures/mcp-server.ts';
import { type Answer, assertError, assertSchema, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { newId } from '../lib/ids.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { ChatPresetResource } from './schema.ts';

const MODEL = 'general-8b';
const PATH = '/v1/chat-presets';
const SECRET = 'The word of the day is "kraken".';

describe('presets of chats', () => {
  const embedder = bundledEmbedder();
  const api = useApi({
    ...embeddedBy(embedder),
    jobs: [RUN_RESPONSE],
    config: { allowPrivateHosts: ['127.0.0.1'] },
  });
  let server: McpServerDouble;
  let owner: SignedIn;
  let member: SignedIn;
  let viewer: SignedIn;
  let foreign: SignedIn;
  let organizationId = '';
  let base = '';
  let hiddenBase = '';
  let foreignBase = '';
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    server = await startMcpServer();
    organizationId = (await api.makeKey({ organization: 'harbour' })).organizationId;
    const other = await api.makeKey({ organization: 'other' });
    owner = await openUserSession(api, [organizationId]);
    member = await openUserSession(api, [organizationId], { role: 'developer' });
    viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    foreign = await openUserSession(api, [other.organizationId]);
    base = (await owner.send('POST', '/v1/knowledge-bases', { name: 'Harbour' })).json.id;
    foreignBase = (await foreign.send('POST', '/v1/knowledge-bases', { name: 'Foreign' })).json.id;
    hiddenBase = (await owner.send('POST', '/v1/knowledge-bases', { name: 'Hidden' })).json.id;
  });
  after(() => Promise.all([server.close(), embedder.close()]));
  const create = async (body: object = {}): Promise<ChatPresetResource> => {
    const { status, json, text } = await owner.send('POST', PATH, { name: 'Support', published: true, ...body });
    assert.equal(status, 200, text);
    assertSchema(ChatPresetResource, json);
    return json;
  };
  const change = async (id: string, body: object): Promise<ChatPresetResource> =>
    (await owner.send('PATCH', `${PATH}/${id}`, body)).json;
  const list = async (user: SignedIn, query = '?limit=100'): Promise<ChatPresetResource[]> =>
    (await user.send('GET', `${PATH}${query}`)).json.data;
  const names = async (user: SignedIn, query?: string) => (await list(user, query)).map(({ name }) => name);
  const newChat = async (body: object = { preset_id: null }, user = member) =>
    (await user.send('POST', '/v1/chats', body)).json;
  /** Sends a message, and waits for its answer. */
  const send = async (chatId: string, fields: object, by: Pick<SignedIn, 'send'> = member): Promise<Answer> => {
    const path = `/v1/chats/${chatId}/messages`;
    const sent = await by.send('POST', path, { text: 'Is it deep?', ...fields });
    if (sent.status === 200) await withDeadline('the answer', by.send('GET', `${path}/${sent.json.id}?stream=true`));
    return sent;
  };
  const lastCall = () => api.engine.calls.at(-1)!;
  const systemMessage = () => chatPromptOf(lastCall()).messages.find(({ role }) => role === 'system')?.content;

  it('apply to the messages of a chat, whose answers do not show the instructions', async () => {
    playTurns(api.engine, says('Yes.'));
    const parameters = { temperature: 0.25, top_p: 0.5, max_output_tokens: 77 };
    const preset = await create({ model: MODEL, instructions: SECRET, knowledge_base_ids: [base], parameters });
    for (const user of [member, viewer]) {
      const chat = await newChat({ preset_id: preset.id }, user);
      assert.deepEqual(chat.preset, { id: preset.id, name: 'Support', state: 'published' });
      const sent = await send(chat.id, {}, user);
      assert.equal(sent.status, 200, sent.text);
      assert.match(systemMessage() ?? '', /kraken/);
      assert.equal(lastCall().request.maxTokens, 77);
      assert.deepEqual([sent.json.response.temperature, sent.json.response.top_p], [0.25, 0.5]);
      assert.ok(chatPromptOf(lastCall()).tools.some((tool) => tool.function.name === 'file_search'));
      const stored = (await user.send('GET', `/v1/chats/${chat.id}`)).json;
      assert.deepEqual([stored.model, stored.knowledge_base_ids], [MODEL, [base]]);
      const path = `/v1/chats/${chat.id}/messages`;
      for (const url of [
        path,
        `${path}/${sent.json.id}`,
        `${path}/${sent.json.id}?stream=true`,
        `/v1/chats/${chat.id}/export`,
      ])
        assert.ok(!(await user.send('GET', url)).text.includes('kraken'), url);
    }
  });

  it('leave model and knowledge bases to the message, and change with the next one', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id, parameters } = await create({ instructions: 'Answer "shortly".', knowledge_base_ids: [base] });
    assert.deepEqual(parameters, {});
    const chat = await newChat({ preset_id: id });
    assertError(await send(chat.id, {}), 400, 'missing_required_field', 'model');
    await send(chat.id, { model: MODEL, knowledge_base_ids: [] });
    assert.deepEqual(chatPromptOf(lastCall()).tools, []);
    await change(id, { instructions: 'Answer at length.' });
    await send(chat.id, { model: MODEL });
    assert.match(systemMessage() ?? '', /at length/);
    await send(chat.id, { model: MODEL, preset_id: null });
    assert.equal(systemMessage(), undefined);
    assert.equal((await member.send('GET', `/v1/chats/${chat.id}`)).json.preset, null);
    await send(chat.id, { model: MODEL, preset_id: id });
    assert.match(systemMessage() ?? '', /at length/);
  });

  it('call only allowed tools of registered servers, without approval', async () => {
    server.tools = [FORECAST, { ...FORECAST, name: 'erase' }];
    server.call = (_name, { city }) => textResult(`Sunny in ${city}.`);
    const registered = { label: 'weather', url: server.url, require_approval: 'always' };
    const { id: serverId } = (await owner.send('POST', '/v1/mcp-servers', registered)).json;
    const tools = [{ type: 'mcp', server_id: serverId, allowed_tools: ['forecast'] }];
    const { id } = await create({ tools });
    const chat = await newChat({ preset_id: id });
    playTurns(api.engine, calls(['weather__forecast', { city: 'Oslo' }]), says('It is sunny.'));
    const sent = await send(chat.id, { model: MODEL });
    const { json } = await member.send('GET', `/v1/chats/${chat.id}/messages/${sent.json.id}`);
    const types = json.response.output.map(({ type }: { type: string }) => type);
    assert.deepEqual(types, ['mcp_list_tools', 'mcp_call', 'message']);
    assert.deepEqual(
      chatPromptOf(lastCall()).tools.map((tool) => tool.function.name),
      ['weather__forecast'],
    );
    await owner.send('DELETE', `/v1/mcp-servers/${serverId}`);
    playTurns(api.engine, says('Without tools.'));
    assert.equal((await send(chat.id, { model: MODEL })).status, 200);
    assert.deepEqual(chatPromptOf(lastCall()).tools, []);
  });

  it('grant no permissions: resources that a key may not use are omitted or rejected', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await create({ model: MODEL, knowledge_base_ids: [base, hiddenBase] });
    const makeKey = async (rights: object) => {
      const { key, id: keyId } = await api.makeKey({ organization: 'harbour', scopes: ['inference', 'knowledge'] });
      assert.equal((await api.send('PATCH', `/v1/admin/keys/${keyId}`, { body: rights })).status, 200);
      const by = { send: (method: string, path: string, body?: unknown) => api.send(method, path, { key, body }) };
      const chat = (await by.send('POST', '/v1/chats', { preset_id: id })).json;
      return { by, chat };
    };
    const limited = await makeKey({ knowledge_base_ids: [base] });
    const shown = (await limited.by.send('GET', `${PATH}/${id}`)).json;
    assert.deepEqual(shown.knowledge_base_ids, [base]);
    assert.equal((await send(limited.chat.id, {}, limited.by)).status, 200);
    const stored = (await limited.by.send('GET', `/v1/chats/${limited.chat.id}`)).json;
    assert.deepEqual(stored.knowledge_base_ids, [base]);
    const named = await send(limited.chat.id, { knowledge_base_ids: [hiddenBase] }, limited.by);
    assertError(named, 404, 'knowledge_base_not_found', 'knowledge_base_ids.0');
    const other = await makeKey({ models: ['instruct-7b'] });
    assertError(await send(other.chat.id, {}, other.by), 403, 'insufficient_scope', 'model');
  });

  it('are read by members when published, without instructions, and managed by owners alone', async () => {
    const published = await create({ name: 'Open', instructions: SECRET });
    const draft = await create({ name: 'Draft', instructions: SECRET, published: false });
    assert.equal(published.instructions, SECRET);
    const { key } = await api.makeKey({ organization: 'harbour', scopes: ['inference', 'keys'] });
    const byKey = { send: (method: string, path: string, body?: unknown) => api.send(method, path, { key, body }) };
    for (const user of [member, viewer, byKey]) {
      const view = (await user.send('GET', `${PATH}/${published.id}`)).json;
      assert.deepEqual([view.name, view.instructions], ['Open', null]);
      assertError(await user.send('GET', `${PATH}/${draft.id}`), 404, 'chat_preset_not_found', 'preset_id');
      const all = (await user.send('GET', `${PATH}?limit=100`)).json.data as ChatPresetResource[];
      assert.ok(all.every((each) => each.instructions === null && each.published));
      const chosen = await user.send('POST', '/v1/chats', { preset_id: draft.id });
      assertError(chosen, 404, 'chat_preset_not_found', 'preset_id');
      for (const [method, path, body] of [
        ['POST', PATH, { name: 'Mine' }],
        ['PATCH', `${PATH}/${published.id}`, { name: 'Mine' }],
        ['DELETE', `${PATH}/${published.id}`],
      ] as const)
        assertError(await user.send(method, path, body), 403, 'insufficient_scope', null);
    }
    assert.ok((await names(owner)).includes('Draft'));
    for (const [method, path, body] of [
      ['GET', `${PATH}/${published.id}`],
      ['PATCH', `${PATH}/${published.id}`, { name: 'Mine' }],
      ['DELETE', `${PATH}/${published.id}`],
      ['POST', '/v1/chats', { preset_id: published.id }],
    ] as const)
      assertError(await foreign.send(method, path, body), 404, 'chat_preset_not_found', 'preset_id');
    assert.deepEqual(await names(foreign), []);
    for (const method of ['GET', 'POST'])
      assert.equal((await api.send(method, PATH, { key: null, ...(method === 'POST' && { body: {} }) })).status, 401);
  });

  it('stay in chats when unpublished, and are removed from chats when deleted', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await create({ instructions: SECRET });
    const chat = await newChat({ preset_id: id });
    await change(id, { published: false });
    const state = async () => (await member.send('GET', `/v1/chats/${chat.id}`)).json.preset;
    assert.deepEqual(await state(), { id, name: 'Support', state: 'unpublished' });
    await send(chat.id, { model: MODEL });
    assert.match(systemMessage() ?? '', /kraken/);
    const other = await newChat();
    const chosen = await send(other.id, { model: MODEL, preset_id: id });
    assertError(chosen, 404, 'chat_preset_not_found', 'preset_id');
    assert.equal((await owner.send('DELETE', `${PATH}/${id}`)).json.deleted, true);
    assert.deepEqual(await state(), { id, name: null, state: 'deleted' });
    assert.equal((await send(chat.id, { model: MODEL })).status, 200);
    assert.equal(systemMessage(), undefined);
    assert.equal(await state(), null);
  });

  it('have an order and one default, which new chats use unless they name another preset', async () => {
    for (const { id } of await list(owner)) await owner.send('DELETE', `${PATH}/${id}`);
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) ids.push((await create({ name })).id);
    const [a = '', b = '', c = '', d = ''] = ids;
    await change(d, { position: 0 });
    assert.deepEqual(await names(owner), ['d', 'a', 'b', 'c']);
    assert.equal((await change(d, { position: 2 })).position, 2);
    assert.deepEqual(await names(member), ['a', 'b', 'd', 'c']);
    await change(a, { position: 1_000 });
    assert.deepEqual(await names(member), ['b', 'd', 'c', 'a']);
    assert.deepEqual(await names(member, `?limit=2&after=${b}`), ['d', 'c']);
    assert.equal((await newChat({})).preset, null);
    const theirs = await foreign.send('POST', PATH, { name: 'theirs', published: true, default: true });
    await change(b, { default: true });
    await change(c, { default: true });
    assert.equal((await foreign.send('GET', `${PATH}/${theirs.json.id}`)).json.default, true);
    await foreign.send('DELETE', `${PATH}/${theirs.json.id}`);
    assert.deepEqual(
      (await list(owner)).filter((each) => each.default).map(({ id }) => id),
      [c],
    );
    assert.equal((await newChat({})).preset.id, c);
    assert.equal((await newChat({ preset_id: a })).preset.id, a);
    assert.equal((await newChat({ preset_id: null })).preset, null);
    assert.equal((await newChat({}, foreign)).preset, null);
    await change(c, { published: false });
    assert.equal((await newChat({})).preset, null);
    await Promise.all([a, b, d].map((id) => change(id, { default: true })));
    assert.equal((await list(owner)).filter((each) => each.default).length, 1);
    for (const id of [b, d]) await owner.send('DELETE', `${PATH}/${id}`);
    await create({ name: 'e' });
    assert.deepEqual(await names(owner), ['c', 'a', 'e']);
    assert.deepEqual(
      (await list(owner)).map(({ position }) => position),
      [0, 1, 2],
    );
  });

  it('400 and 404 naming the field, at both limits', async () => {
    const theirs = { label: 'theirs', url: server.url };
    const foreignServer = (await foreign.send('POST', '/v1/mcp-servers', theirs)).json.id;
    const ours = { label: 'ours', url: server.url };
    const tool = { type: 'mcp', server_id: (await owner.send('POST', '/v1/mcp-servers', ours)).json.id };
    const { id } = await create({ name: 'a'.repeat(100), description: 'b'.repeat(500) });
    const invalid: [body: object, param: string][] = [
      [{ name: '' }, 'name'],
      [{ name: 'a'.repeat(101) }, 'name'],
      [{ name: 'a\0' }, 'name'],
      [{ description: 'a'.repeat(501) }, 'description'],
      [{ instructions: 'a\0' }, 'instructions'],
      [{ instructions: 'a'.repeat(100_001) }, 'instructions'],
      [{ parameters: { temperature: 2.1 } }, 'parameters.temperature'],
      [{ parameters: { max_output_tokens: 0 } }, 'parameters.max_output_tokens'],
      [{ parameters: { reasoning_effort: 'huge' } }, 'parameters.reasoning_effort'],
      [{ tools: [{ type: 'shell', server_id: 'x' }] }, 'tools.0.type'],
      [{ tools: [tool, tool] }, 'tools.1.server_id'],
      [{ knowledge_base_ids: Array(65).fill(base) }, 'knowledge_base_ids'],
      [{ published: 'yes' }, 'published'],
    ];
    for (const [body, param] of invalid) {
      assertError(await owner.send('PATCH', `${PATH}/${id}`, body), 400, 'invalid_value', param);
      assertError(await owner.send('POST', PATH, { name: 'x', ...body }), 400, 'invalid_value', param);
    }
    assertError(await owner.send('PATCH', `${PATH}/${id}`, { position: -1 }), 400, 'invalid_value', 'position');
    assertError(await owner.send('POST', PATH, {}), 400, 'missing_required_field', 'name');
    const unknown: [body: object, code: string, param: string][] = [
      [{ model: 'no-such' }, 'model_not_found', 'model'],
      [{ model: 'embed-large-en-v1.5' }, 'model_not_found', 'model'],
      [{ knowledge_base_ids: [base, newId('knowledgeBase')] }, 'knowledge_base_not_found', 'knowledge_base_ids.1'],
      [{ knowledge_base_ids: [foreignBase] }, 'knowledge_base_not_found', 'knowledge_base_ids.0'],
      [{ tools: [{ type: 'mcp', server_id: 'x' }] }, 'mcp_server_not_found', 'tools.0.server_id'],
      [{ tools: [{ type: 'mcp', server_id: foreignServer }] }, 'mcp_server_not_found', 'tools.0.server_id'],
    ];
    for (const [body, code, param] of unknown)
      assertError(await owner.send('PATCH', `${PATH}/${id}`, body), 404, code, param);
    const { rows } = await api.db.execute(
      "select action from audit_events where resource_id = $1 and action like 'chat_preset.%'",
      [id],
    );
    assert.deepEqual(rows, [{ action: 'chat_preset.created' }]);
  });
});
