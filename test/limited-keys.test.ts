/** Keys limited to knowledge bases. `test/tenant-matrix.test.ts` tries every route with the ids of others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ENDPOINTS } from '../src/batches/endpoints.ts';
import { INGEST_SOURCE } from '../src/knowledge-bases/jobs/ingest-job.ts';
import type { Call } from '../src/lib/caller.ts';
import { restoreCaller, storeCaller } from '../src/lib/stored-caller.ts';
import { BATCH_JOBS, workBatches } from './batch-jobs.ts';
import { chatLine, createBatchOf, readResults, waitForBatch } from './batches.ts';
import { bundledEmbedder, embeddedBy } from './embedder.ts';
import { assertError, useApi } from './harness.ts';
import { MemorySource, makeSource } from './ingestion.ts';
import { stream, words } from './scripted-engine.ts';
import { openSocket } from './web-socket-client.ts';

const KEYS = '/v1/admin/keys';
const BASES = '/v1/knowledge-bases';

describe('a key that is limited to knowledge bases', () => {
  const engine = bundledEmbedder();
  const harmless = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
  const api = useApi({
    ...embeddedBy(engine),
    scoreTexts: async (texts) => texts.map(() => harmless),
    jobs: [INGEST_SOURCE, ...BATCH_JOBS],
  });
  after(() => engine.close());
  let open = '';
  let secret = '';
  let key = '';
  let keyId = '';

  const makeBase = async (name: string, text: string) => {
    const { id } = (await api.send('POST', BASES, { body: { name } })).json;
    const source = new MemorySource();
    source.items.set(name, text);
    const { queueJob, run } = await makeSource(api, id, source);
    await run(await queueJob());
    return id as string;
  };
  const create = (body: object, by = api.key) => api.send('POST', KEYS, { body, key: by });
  before(async () => {
    open = await makeBase('Open "1"', 'The ferry leaves at noon.');
    secret = await makeBase('Secret', 'The ferry is sold to a rival.');
    const { status, json, text } = await create({ name: 'limited', knowledge_base_ids: [open] });
    assert.equal(status, 200, text);
    ({ key, id: keyId } = json);
    api.engine.play(() => stream(words('At noon.')));
  });

  const ask = (model: object, by = key) =>
    api.send('POST', '/v1/chat/completions', {
      body: { model: 'general-8b', messages: [{ role: 'user', content: 'When does the ferry leave?' }], ...model },
      key: by,
    });
  const mcp = async (method: string, params: object, by = key) => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const headers = { accept: 'application/json, text/event-stream' };
    const { text } = await api.send('POST', '/mcp', { body, headers, key: by });
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result;
  };
  const callTool = (name: string, args: object, by = key) => mcp('tools/call', { name, arguments: args }, by);

  it('searches and answers from its knowledge bases only', async () => {
    const search = (id: string) => api.send('POST', `${BASES}/${id}/retrieve`, { body: { query: 'ferry' }, key });
    assert.equal((await search(open)).json.results.length, 1);
    assertError(await search(secret), 404, 'knowledge_base_not_found', 'kb_id');
    const answered = await ask({ knowledge_bases: [open] });
    assert.equal(answered.json.knowledge_base_context?.results.length, 1, answered.text);
    assertError(await ask({ knowledge_bases: [open, secret] }), 404, 'knowledge_base_not_found', 'knowledge_bases.1');
    assert.equal((await ask({})).status, 200);
  });

  it('sees the same by the Model Context Protocol', async () => {
    const listed = await callTool('list_knowledge_bases', {});
    assert.deepEqual(
      listed.structuredContent.knowledge_bases.map(({ id }: { id: string }) => id),
      [open],
    );
    const found = await callTool('search', { query: 'ferry' });
    assert.deepEqual(
      found.structuredContent.results.map(({ text }: { text: string }) => text),
      ['The ferry leaves at noon.'],
    );
    assert.equal((await callTool('search', { query: 'ferry' }, api.key)).structuredContent.results.length, 2);
    const { resources } = await mcp('resources/list', {});
    assert.deepEqual(
      resources.map(({ name }: { name: string }) => name),
      ['Open "1".txt'],
    );
    const all = (await mcp('resources/list', {}, api.key)).resources as { uri: string; name: string }[];
    const hidden = all.find(({ name }) => name === 'Secret.txt')?.uri ?? '';
    assert.equal(await mcp('resources/read', { uri: hidden }), undefined);
    const id = hidden.replace('quire://documents/', '');
    for (const [name, args] of [
      ['fetch', { id }],
      ['search', { query: 'ferry', knowledge_base_ids: [secret] }],
      ['ask', { question: 'ferry?', knowledge_base_ids: [secret] }],
      ['add_document', { knowledge_base_id: secret, key: 'a', text: 'b' }],
    ] as const) {
      const result = await callTool(name, args);
      assert.equal(result.isError, true, name);
      assert.match(result.content[0].text, /There is no knowledge base/, name);
    }
  });

  it('has its limit in batches, too, which run as the stored caller', async () => {
    const caller = restoreCaller(
      JSON.parse(JSON.stringify(storeCaller(await api.authenticator.authenticateId(keyId)))),
    );
    const path = '/v1/chat/completions';
    const call: Call = { caller, requestId: 'req_1', endpoint: path, priority: 'batch', isBatchLine: true };
    const complete = (id: string) => {
      const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Ferry?' }], knowledge_bases: [id] };
      return ENDPOINTS[path].complete(api.deps, call, body, new AbortController().signal);
    };
    assert.match(await complete(open), /noon/);
    await assert.rejects(complete(secret), { status: 404, code: 'knowledge_base_not_found' });
  });

  it('sees the files of its own batches, and not those of others', async () => {
    workBatches(api.deps, 4);
    const run = async (by: string, base: string) => {
      const target = { url: api.url, key: by };
      const { id } = await createBatchOf(target, [chatLine('a "1"', 'Ferry?', { knowledge_bases: [base] })]);
      return waitForBatch(target, id);
    };
    const [own, other] = await Promise.all([run(key, open), run(api.key, secret)]);
    const [line] = await readResults({ url: api.url, key }, own.output_file_id);
    assert.equal(line?.response.status_code, 200);
    const download = (by: string) => api.send('GET', `/v1/files/${other.output_file_id}/content`, { key: by });
    assertError(await download(key), 404, 'file_not_found', 'file_id');
    assert.equal((await download(api.key)).status, 200);
    const files = (await api.send('GET', '/v1/files?limit=100', { key })).json.data.map(({ id }: { id: string }) => id);
    assert.ok(files.includes(own.output_file_id) && !files.includes(other.output_file_id));
  });

  it('continues its own responses and conversations over a WebSocket, and not those of others', async () => {
    const turn = { type: 'response.create', model: 'general-8b', input: 'Ferry?' };
    const made = async (by: string) => {
      const conversation = (await api.send('POST', '/v1/conversations', { body: {}, key: by })).json.id;
      const body = { model: 'general-8b', input: 'Ferry?', conversation };
      return { conversation, id: (await api.send('POST', '/v1/responses', { body, key: by })).json.id };
    };
    const [own, other] = [await made(key), await made(api.key)];
    const limited = await openSocket(api, { key });
    const unlimited = await openSocket(api);
    const endOf = async (client: typeof limited, fields: object) => {
      const last = (await client.turn({ ...turn, ...fields })).at(-1);
      return last.error?.code ?? last.type;
    };
    const done = 'response.completed';
    assert.equal(await endOf(limited, { previous_response_id: own.id }), done);
    assert.equal(await endOf(limited, { conversation: own.conversation }), done);
    assert.equal(await endOf(limited, { previous_response_id: other.id }), 'previous_response_not_found');
    assert.equal(await endOf(limited, { conversation: other.conversation }), 'conversation_not_found');
    for (const { id, conversation } of [own, other]) {
      assert.equal(await endOf(unlimited, { previous_response_id: id }), done);
      assert.equal(await endOf(unlimited, { conversation }), done);
    }
    for (const { socket } of [limited, unlimited]) socket.terminate();
  });

  it('gets no response of another key by its Idempotency-Key', async () => {
    const body = { name: 'Policy "ü"', enabled: false };
    const send = (by: string, name: string) =>
      api.send('POST', '/v1/guardrail-policies', { body, key: by, headers: { 'idempotency-key': name } });
    const first = await send(api.key, 'a');
    assertError(await send(key, 'a'), 409, 'idempotency_conflict');
    assert.equal((await send(api.key, 'a')).json.id, first.json.id);
    const own = await send(key, 'b');
    assert.equal((await send(key, 'b')).json.id, own.json.id);
  });

  it('creates no knowledge base, and changes its own', async () => {
    assertError(await api.send('POST', BASES, { body: { name: 'New' }, key }), 403, 'insufficient_scope');
    const renamed = await api.send('PATCH', `${BASES}/${open}`, { body: { description: 'ü "' }, key });
    assert.equal(renamed.status, 200);
  });

  it('leaves other requests of the process unlimited', async () => {
    const ids = (by: string) =>
      api.send('GET', BASES, { key: by }).then(({ json }) => json.data.map(({ id }: { id: string }) => id));
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => ids(at % 2 === 0 ? key : api.key)));
    for (const [at, answer] of answers.entries()) assert.deepEqual(answer, at % 2 === 0 ? [open] : [open, secret]);
  });

  it('gives no other knowledge base to a key, and passes its limit on', async () => {
    const manager = (await create({ scopes: ['keys', 'knowledge'], knowledge_base_ids: [open] })).json.key;
    const made = await create({ scopes: ['knowledge'] }, manager);
    assert.deepEqual(made.json.knowledge_base_ids, [open]);
    const all = await create({ scopes: ['knowledge'], knowledge_base_ids: null }, manager);
    assertError(all, 403, 'insufficient_scope', 'knowledge_base_ids');
    const other = await create({ scopes: ['knowledge'], knowledge_base_ids: [secret] }, manager);
    assertError(other, 404, 'knowledge_base_not_found', 'knowledge_base_ids.0');
    const { id: unlimited } = await api.makeKey({ scopes: ['knowledge'] });
    const changed = await api.send('PATCH', `${KEYS}/${unlimited}`, { body: { name: 'x' }, key: manager });
    assertError(changed, 403, 'insufficient_scope', 'key_id');
  });

  it('400 and 404 for lists that name no knowledge base of the organization of the key', async () => {
    const bad = async (knowledge_base_ids: unknown) => create({ knowledge_base_ids });
    assertError(await bad([]), 400, 'invalid_value', 'knowledge_base_ids');
    assertError(await bad([open, open]), 400, 'invalid_value', 'knowledge_base_ids');
    assertError(await bad([1]), 400, 'invalid_value', 'knowledge_base_ids.0');
    assertError(await bad([open, 'kb_"\u0000']), 404, 'knowledge_base_not_found', 'knowledge_base_ids.1');
    const { organizationId } = await api.makeKey({ organization: 'other' });
    const foreign = await create({ organization_id: organizationId, knowledge_base_ids: [open] });
    assertError(foreign, 404, 'knowledge_base_not_found', 'knowledge_base_ids.0');
  });

  it('is changed at once, and the audit log has the change', async () => {
    const { id, key: changed } = (await create({ knowledge_base_ids: [open] })).json;
    const status = async () => (await api.send('GET', `${BASES}/${secret}`, { key: changed })).status;
    const patch = (knowledge_base_ids: string[] | null) =>
      api.send('PATCH', `${KEYS}/${id}`, { body: { knowledge_base_ids } });
    assert.equal(await status(), 404);
    assert.deepEqual((await patch([secret, open])).json.knowledge_base_ids, [secret, open]);
    assert.equal(await status(), 200);
    assert.equal((await patch(null)).json.knowledge_base_ids, null);
    assert.equal(await status(), 200);
    const { json } = await api.send('GET', `/v1/admin/audit?resource_id=${id}&action=api_key.updated`);
    const changes = json.data.map((event: { changes: object[] }) => event.changes);
    assert.deepEqual(changes, [
      [{ field: 'knowledge_base_ids', from: [open], to: [secret, open] }],
      [{ field: 'knowledge_base_ids', from: [secret, open], to: null }],
    ]);
    await api.send('POST', `${KEYS}/${id}/revoke`);
    assert.equal(await status(), 401);
  });

  it('sees nothing when its knowledge base is deleted, and keeps the id in its list', async () => {
    const base = (await api.send('POST', BASES, { body: { name: 'Short' } })).json.id;
    const { id, key: left } = (await create({ knowledge_base_ids: [base] })).json;
    assert.equal((await api.send('DELETE', `${BASES}/${base}`, { key: left })).status, 200);
    assert.deepEqual((await api.send('GET', BASES, { key: left })).json.data, []);
    assertError(await ask({ knowledge_bases: [open] }, left), 404, 'knowledge_base_not_found', 'knowledge_bases.0');
    const { json } = await api.send('PATCH', `${KEYS}/${id}`, { body: { knowledge_base_ids: [base, open] } });
    assert.deepEqual(json.knowledge_base_ids, [base, open]);
    const found = await api.send('GET', BASES, { key: left });
    assert.deepEqual(
      found.json.data.map(({ id: each }: { id: string }) => each),
      [open],
    );
  });
});
