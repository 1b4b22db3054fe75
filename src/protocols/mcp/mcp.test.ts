import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { stream, untilAborted, words } from '../../../test/scripted-engine.ts';
import { usageRecords } from '../../billing/tables.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';

interface Listed {
  name: string;
  annotations: { readOnlyHint: boolean };
}

interface Message {
  params: { progressToken: string; progress: number };
}

const FERRY = 'The "Ångström" ferry takes twelve bicycles. 🚲 It leaves at noon.';
/** Longer than one call returns, in many chunks that overlap. */
const LONG = Array.from({ length: 6_000 }, (_, i) => `Sentence ${i} of the logbook.`).join(' ');

describe('POST /mcp', () => {
  const engine = bundledEmbedder();
  const harmless = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
  const api = useApi({
    ...embeddedBy(engine),
    scoreTexts: async (texts) => texts.map(() => harmless),
    jobs: [INGEST_SOURCE],
  });
  after(() => engine.close());
  let base: string;
  before(async () => {
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Harbour' } })).json.id;
    const source = new MemorySource();
    source.items.set('ferry', FERRY);
    source.items.set('logbook', LONG);
    const { queueJob, run } = await makeSource(api, base, source);
    await run(await queueJob());
    api.engine.play(() => stream(words('It takes twelve bicycles.')));
  });

  const post = (body: unknown, options: { key?: string | null; headers?: Record<string, string> } = {}) =>
    api.send('POST', '/mcp', {
      body,
      ...options,
      headers: { accept: 'application/json, text/event-stream', ...options.headers },
    });
  /** Sends a request of the revision 2025-11-25. Returns its messages: notifications, then the response. */
  const send = async (method: string, params: object, key = api.key) => {
    const answer = await post({ jsonrpc: '2.0', id: 7, method, params }, { key });
    assert.equal(answer.status, 200, answer.text);
    const frames = answer.text.match(/^data: .*$/gm)?.map((line) => JSON.parse(line.slice('data: '.length)));
    return frames ?? [answer.json];
  };
  const callTool = async (name: string, args: object, { key = api.key, meta = {} } = {}) => {
    const messages = await send('tools/call', { name, arguments: args, _meta: meta }, key);
    return { ...messages.at(-1).result, messages };
  };
  const otherKey = async (name: string) => (await api.makeKey({ organization: name })).key;

  it('initializes, and lists tools with schemas of arguments and results', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const [{ result }] = await send('initialize', params);
    assert.deepEqual([result.protocolVersion, result.serverInfo.name], ['2025-11-25', 'quire']);
    const [listed] = await send('tools/list', {});
    const tools = listed.result.tools.map((tool: { name: string; outputSchema: { required: string[] } }) => [
      tool.name,
      tool.outputSchema.required,
    ]);
    assert.deepEqual(tools, [
      ['list_knowledge_bases', ['knowledge_bases']],
      ['search', ['results']],
      ['fetch', ['id', 'title', 'text', 'url', 'metadata']],
      ['ask', ['answer', 'model', 'citations']],
      ['add_document', ['id', 'status']],
    ]);
    const writing = listed.result.tools.filter((tool: Listed) => !tool.annotations.readOnlyHint);
    assert.deepEqual(
      writing.map(({ name }: Listed) => name),
      ['add_document'],
    );
  });

  it('search returns passages, whose ids fetch reads whole', async () => {
    const { structuredContent, content } = await callTool('search', { query: 'how many bicycles', top_k: 1 });
    assert.deepEqual(JSON.parse(content[0].text), structuredContent);
    const [hit, ...others] = structuredContent.results;
    assert.equal(others.length, 0);
    assert.equal(hit.text, FERRY);
    assert.equal(hit.url, `${api.url}/knowledge-bases/${hit.id.replace('/', '/documents/')}`);
    const { structuredContent: document } = await callTool('fetch', { id: hit.id });
    assert.deepEqual([document.text, document.title, document.metadata.is_truncated], [FERRY, 'ferry.txt', false]);
  });

  it('fetch joins overlapping chunks without repetition, up to 100,000 characters', async () => {
    const { structuredContent } = await callTool('search', { query: 'logbook', top_k: 1 });
    const { structuredContent: document } = await callTool('fetch', { id: structuredContent.results[0].id });
    assert.equal(document.text, LONG.slice(0, 100_000));
    assert.equal(document.metadata.is_truncated, true);
  });

  it('ask answers with citations, reports progress, and is metered once', async () => {
    const before_ = await api.db.sql.select().from(usageRecords);
    const question = 'How many bicycles does the ferry take?';
    const { structuredContent, messages } = await callTool('ask', { question }, { meta: { progressToken: 'p "1"' } });
    assert.equal(structuredContent.answer, 'It takes twelve bicycles.');
    const [citation] = structuredContent.citations;
    assert.match(citation.id, new RegExp(`^${base}/doc_`));
    assert.deepEqual([citation.start_index, citation.end_index], [0, structuredContent.answer.length]);
    const progress = messages.slice(0, -1).map(({ params }: Message) => [params.progressToken, params.progress]);
    assert.deepEqual(progress, [
      ['p "1"', 0],
      ['p "1"', 1],
    ]);
    const records = await api.db.sql.select().from(usageRecords);
    const endpoints = records.slice(before_.length).map(({ endpoint, model }) => [endpoint, model]);
    assert.deepEqual(
      endpoints.filter(([, model]) => model === structuredContent.model),
      [['/mcp', structuredContent.model]],
    );
  });

  it('add_document stores a text under a key, and replaces it', async () => {
    const document = { knowledge_base_id: base, key: 'notes/"1"', text: '# Notes', format: 'markdown', title: 'Notes' };
    const { structuredContent: first } = await callTool('add_document', document);
    assert.ok(first !== undefined);
    assert.deepEqual([first.id.split('/')[0], first.status], [base, 'processing']);
    const { structuredContent: second } = await callTool('add_document', { ...document, text: 'other' });
    assert.equal(second.id, first.id);
    const key = await otherKey('foreign writer');
    const { isError, content } = await callTool('add_document', document, { key });
    assert.deepEqual([isError, content[0].text], [true, `There is no knowledge base '${base}'.`]);
  });

  it('lists documents as resources, and reads them', async () => {
    const [{ result }] = await send('resources/list', {});
    const ferry = result.resources.find(({ name }: { name: string }) => name === 'ferry.txt');
    const [read] = await send('resources/read', { uri: ferry.uri });
    assert.equal(read.result.contents[0].text, FERRY);
  });

  it('another organization sees nothing of it, and gets the error of an unknown id', async () => {
    const key = await otherKey('other "org"');
    const { structuredContent } = await callTool('search', { query: 'bicycles' });
    const [kb, doc] = structuredContent.results[0].id.split('/');
    const listed = await callTool('list_knowledge_bases', {}, { key });
    assert.deepEqual(listed.structuredContent, { knowledge_bases: [] });
    for (const [name, args, id] of [
      ['search', { query: 'bicycles', knowledge_base_ids: [kb] }, kb],
      ['ask', { question: 'bicycles', knowledge_base_ids: [kb] }, kb],
      ['fetch', { id: `${kb}/${doc}` }, kb],
    ] as const) {
      const { isError, content } = await callTool(name, args, { key });
      assert.deepEqual([isError, content[0].text], [true, `There is no knowledge base '${id}'.`], name);
    }
    const [{ result }] = await send('resources/list', {}, key);
    assert.deepEqual(result.resources, []);
    const [{ error }] = await send('resources/read', { uri: `quire://documents/${kb}/${doc}` }, key);
    assert.ok(error !== undefined);
  });

  it('errors of arguments are results that a model can read', async () => {
    const key = await otherKey('empty');
    for (const [name, args, message, caller] of [
      ['search', { query: '' }, /query/, api.key],
      ['search', { query: 'a', top_k: 51 }, /top_k/, api.key],
      ['search', { query: 'a' }, /there is no knowledge base/, key],
      ['fetch', { id: 'ferry' }, /There is no document 'ferry'/, api.key],
      ['fetch', { id: `${base}/doc_x/y` }, /There is no document/, api.key],
      ['ask', { question: 'a', model: 'nothing' }, /There is no model 'nothing'/, api.key],
    ] as const) {
      const { isError, content } = await callTool(name, args, { key: caller });
      assert.equal(isError, true, name);
      assert.match(content[0].text, message);
    }
  });

  it('needs the scope knowledge, and inference for ask', async () => {
    const { key: inference } = await api.makeKey({ scopes: ['inference'] });
    assertError(await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { key: inference }), 403, 'insufficient_scope');
    const { key: knowledge } = await api.makeKey({ scopes: ['knowledge'] });
    const { isError, content } = await callTool('ask', { question: 'bicycles' }, { key: knowledge });
    assert.ok(isError && /lacks the scope 'inference'/.test(content[0].text), content[0].text);
    assert.ok((await callTool('search', { query: 'bicycles' }, { key: knowledge })).structuredContent);
  });

  it('answers with the first model that the key may use', async () => {
    const { key } = await api.makeKey({ models: ['instruct-7b', 'embed-large-en-v1.5'] });
    const { structuredContent } = await callTool('ask', { question: 'bicycles' }, { key });
    assert.equal(structuredContent.model, 'instruct-7b');
  });

  it('ask is screened by the guardrail policies of the organization', async () => {
    const { key } = await api.makeKey({ organization: 'screened' });
    await api.send('POST', '/v1/knowledge-bases', { key, body: { name: 'Empty' } });
    const policy = { name: 'p', apply_to: ['input'], topic_deny_list: [{ topic: 'falcon', action: 'block' }] };
    assert.equal((await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).status, 200);
    const calls = api.engine.calls.length;
    const { isError, content } = await callTool('ask', { question: 'a "falcon"?' }, { key });
    assert.ok(isError && /blocked by the content policy/.test(content[0].text), content[0].text);
    assert.equal(api.engine.calls.length, calls);
  });

  it('a client that disconnects during a call frees the engine', async () => {
    api.engine.play(async function* (_request, signal) {
      yield* words('one two').slice(0, 2);
      await untilAborted(signal);
    });
    const { length } = api.engine.calls;
    const controller = new AbortController();
    const params = { name: 'ask', arguments: { question: 'How many bicycles?' }, _meta: { progressToken: 1 } };
    const call = fetch(`${api.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: controller.signal,
    }).then((response) => response.text());
    call.catch(() => {});
    await until(() => api.engine.calls.length > length);
    controller.abort();
    await assert.rejects(call);
    await until(() => api.engine.calls.at(-1)?.ended === true);
    api.engine.play(() => stream(words('It takes twelve bicycles.')));
  });

  it('401 names the protected-resource metadata', async () => {
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { key: null });
    assertError(answer, 401, 'invalid_api_key');
    const [, url = ''] = /resource_metadata="(.*)"/.exec(answer.headers.get('www-authenticate') ?? '') ?? [];
    const metadata = (await (await fetch(url)).json()) as Record<string, unknown>;
    assert.deepEqual([metadata['resource'], metadata['bearer_methods_supported']], [`${api.url}/mcp`, ['header']]);
  });

  it('403 for pages of other origins, also of a name that was rebound to this machine', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    assertError(await post(ping, { headers: { origin: 'http://evil.example' } }), 403, 'insufficient_scope');
    assertError(await post(ping, { headers: { origin: `${api.url}1` } }), 403, 'insufficient_scope');
    assert.equal((await post(ping, { headers: { origin: api.url } })).status, 200);
  });

  it('rejects what is no message, and has no stream of its own', async () => {
    assertError(await post({ id: 1, method: 'ping' }), 400, 'missing_required_field', 'jsonrpc');
    assertError(await post([]), 400, 'invalid_value', 'body');
    assert.equal((await api.send('GET', '/mcp')).status, 405);
    const [{ error }] = await send('nothing/known', {});
    assert.equal(error.code, -32_601);
  });
});
