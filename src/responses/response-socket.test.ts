import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinAsUser } from '../../test/console-users.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import { openSocket, type SocketClient } from '../../test/web-socket-client.ts';
import { usageRecords } from '../billing/tables.ts';
import type { ChatPrompt, GenerationEvent } from '../engines/engine.ts';
import { ResponseEvent } from './event-schema.ts';

const MODEL = 'general-8b';
const create = (fields: object = {}) => ({ type: 'response.create', model: MODEL, input: 'Hello', ...fields });
const ask = (input: string, fields: object = {}) => create({ input, ...fields });

/** Status, code and parameter of an event `error`. */
const errorOf = (events: { type: string; status: number; error: { code: string; param: string | null } }[]) => {
  assert.equal(events.length, 1, JSON.stringify(events));
  const [{ type, status, error } = assert.fail()] = events;
  return [type, status, error.code, error.param];
};

describe('a WebSocket at /v1/responses', () => {
  const scores = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
  const api = useApi({ scoreTexts: async (texts) => texts.map(() => scores) });
  const userTexts = () => {
    const prompt = api.engine.calls.at(-1)?.request.prompt as ChatPrompt | undefined;
    return prompt?.messages.map(({ content }) => content);
  };
  const close = (...clients: SocketClient[]) => clients.map(({ socket }) => socket.terminate());

  it('sends the events of a stream, one message each', async () => {
    const client = await openSocket(api);
    assert.match(client.headers['x-request-id'] ?? '', /^req_/);
    const events = await client.turn(create({ metadata: { 'a "b"': 'ü' } }));
    for (const event of events) assertSchema(ResponseEvent, event);
    const streamed = await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'Hello', stream: true } });
    const types = (list: { type: string; sequence_number: number }[]) => list.map((e) => [e.type, e.sequence_number]);
    assert.deepEqual(types(events), types(chunks(streamed.text)));
    const { id, metadata } = events.at(-1).response;
    assert.deepEqual(metadata, { 'a "b"': 'ü' });
    assert.equal((await api.send('GET', `/v1/responses/${id}`)).status, 200);
    close(client);
  });

  it('runs messages one after the other', async () => {
    const client = await openSocket(api);
    client.send(ask('first'));
    client.send(Buffer.from(JSON.stringify(ask('second'))));
    const events = await client.turn('{"type":"response.create"');
    while (events.at(-1)?.type !== 'error') events.push(await client.next());
    const order = events.map(({ type }) => type).filter((type) => !/item|text/.test(type));
    const turn = ['response.created', 'response.completed'];
    assert.deepEqual(order, [...turn, ...turn, 'error']);
    assert.equal(events.at(-1).error.code, 'invalid_json');
    close(client);
  });

  it('continues an unstored response of the same connection only', async () => {
    const client = await openSocket(api);
    const [, ...rest] = await client.turn(ask('The word is "cobalt".', { store: false }));
    const { id } = rest.at(-1).response;
    const next = await client.turn(ask('Which?', { store: false, previous_response_id: id }));
    assert.equal(next.at(-1).response.previous_response_id, id);
    assert.deepEqual(userTexts(), ['The word is "cobalt".', 'Hello there.', 'Which?']);
    const newer = next.at(-1).response.id;
    const other = await openSocket(api);
    const missing = ['error', 400, 'previous_response_not_found', 'previous_response_id'];
    const again = ask('Which?', { store: false, previous_response_id: newer });
    assert.deepEqual(errorOf(await other.turn(again)), missing);
    assert.equal((await other.turn(ask('Recovered'))).at(-1).type, 'response.completed');
    assertError(
      await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'x', previous_response_id: newer } }),
      400,
      'previous_response_not_found',
      'previous_response_id',
    );
    assert.equal((await client.turn(again)).at(-1).type, 'response.completed');
    close(client, other);
  });

  it('forgets an unstored response when its continuation fails', async () => {
    const client = await openSocket(api);
    const failures = [
      { input: [{ type: 'function_call_output', call_id: 'call_missing', output: 'none' }] },
      { temperature: 'hot' },
      { stream: true },
    ];
    for (const failure of failures) {
      const { id } = (await client.turn(create({ store: false }))).at(-1).response;
      const [failed] = await client.turn(create({ store: false, previous_response_id: id, ...failure }));
      assert.equal(failed.status, 400);
      const retried = await client.turn(create({ store: false, previous_response_id: id }));
      assert.equal(errorOf(retried)[2], 'previous_response_not_found');
    }
    const { id } = (await client.turn(create({ store: false }))).at(-1).response;
    api.engine.play(() => {
      throw new Error('the engine failed');
    });
    const failed = await client.turn(create({ store: false, previous_response_id: id }));
    api.engine.play(() => stream(words('Hello there.')));
    assert.equal(failed.at(-1).type, 'response.failed');
    for (const lost of [id, failed.at(-1).response.id]) {
      const retried = await client.turn(create({ store: false, previous_response_id: lost }));
      assert.equal(errorOf(retried)[2], 'previous_response_not_found');
    }
    close(client);
  });

  it('continues stored responses of the organization, whatever connection created them', async () => {
    const stored = (await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'stored "1"' } })).json;
    const client = await openSocket(api);
    await client.turn(ask('next', { previous_response_id: stored.id }));
    assert.deepEqual(userTexts(), ['stored "1"', 'Hello there.', 'next']);
    const stranger = await openSocket(api, await api.makeKey({ organization: 'stranger' }));
    const foreign = await stranger.turn(ask('next', { previous_response_id: stored.id }));
    assert.deepEqual(errorOf(foreign), ['error', 400, 'previous_response_not_found', 'previous_response_id']);
    close(client, stranger);
  });

  it('names the field of an invalid message, and stays open', async () => {
    const client = await openSocket(api);
    const invalid: [unknown, string, string | null][] = [
      ['', 'invalid_json', null],
      ['[]', 'invalid_value', 'body'],
      ['7', 'invalid_value', 'body'],
      [{ model: MODEL, input: 'x' }, 'missing_required_field', 'type'],
      [create({ type: 'response.cancel' }), 'invalid_value', 'type'],
      [create({ model: undefined }), 'missing_required_field', 'model'],
      [create({ input: 'a\ud800' }), 'invalid_value', 'input'],
      [create({ max_turns: 51 }), 'invalid_value', 'max_turns'],
      [create({ stream: false }), 'invalid_value', 'stream'],
      [create({ stream_options: {} }), 'invalid_value', 'stream_options'],
      [create({ background: true }), 'invalid_value', 'background'],
      [create({ stream_id: 'a' }), 'invalid_value', 'stream_id'],
      [create({ generate: false }), 'invalid_value', 'generate'],
    ];
    for (const [message, code, param] of invalid)
      assert.deepEqual(errorOf(await client.turn(message)), ['error', 400, code, param], JSON.stringify(message));
    const unknown = await client.turn(create({ model: 'none' }));
    assert.deepEqual(errorOf(unknown), ['error', 404, 'model_not_found', 'model']);
    assert.match(unknown[0].headers['x-request-id'], /^req_/);
    assert.equal((await client.turn(create({ stream: null, background: null }))).at(-1).type, 'response.completed');
    close(client);
  });

  it('needs a key with the scope, whose revocation ends the connection', async () => {
    const rejects = async (options: Parameters<typeof openSocket>[1], status: number, code: string) =>
      assert.rejects(openSocket(api, options), { status, code });
    await rejects({ key: null }, 401, 'invalid_api_key');
    await rejects({ key: 'quire-sk-unknown' }, 401, 'invalid_api_key');
    await rejects(await api.makeKey({ scopes: ['files'] }), 403, 'insufficient_scope');
    const { id, key } = await api.makeKey();
    const client = await openSocket(api, { key });
    await client.turn(create());
    await api.db.execute('update api_keys set revoked_at = now() where id = $1', [id]);
    api.authenticator.evict(id);
    assert.deepEqual(errorOf(await client.turn(create())), ['error', 401, 'invalid_api_key', null]);
    assert.deepEqual(await client.closed(), [1008, 'invalid_api_key']);
  });

  it('rejects sessions of the console from other origins, and viewers', async () => {
    const owner = await joinAsUser(api, 'owner');
    const viewer = await joinAsUser(api, 'viewer');
    const open = ({ cookie }: { cookie: string }, headers: Record<string, string>) =>
      openSocket(api, { key: null, headers: { cookie, ...headers } });
    const rejected = { status: 403, code: 'insufficient_scope' };
    await assert.rejects(open(owner, {}), rejected);
    await assert.rejects(open(owner, { origin: 'https://attacker.example' }), rejected);
    await assert.rejects(open(owner, { 'sec-fetch-site': 'cross-site', origin: api.url }), rejected);
    await assert.rejects(open(viewer, { origin: api.url }), rejected);
    const client = await open(owner, { origin: api.url });
    assert.equal((await client.turn(create())).at(-1).type, 'response.completed');
    close(client);
  });

  it('answers other requests as before', async () => {
    const plain = await api.send('GET', '/v1/responses');
    assertError(plain, 405, 'method_not_allowed');
    assert.equal(plain.headers.get('allow'), 'POST');
    const { request } = await import('node:http');
    const answered = Promise.withResolvers<number>();
    const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json', connection: 'upgrade' };
    const body = JSON.stringify({ model: MODEL, input: 'x' });
    request(`${api.url}/v1/responses`, { method: 'POST', headers: { ...headers, upgrade: 'h2c' } }, (response) => {
      response.resume();
      answered.resolve(response.statusCode ?? 0);
    }).end(body);
    assert.equal(await withDeadline('the response', answered.promise), 200);
    const other = Promise.withResolvers<number>();
    const upgrade = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'MDEyMzQ1Njc4OTAxMjM0NQ==',
    };
    request(`${api.url}/v1/models`, { headers: { ...headers, ...upgrade } }, (response) => {
      response.resume();
      response.on('close', () => other.resolve(response.statusCode ?? 0));
    }).end();
    assert.equal(await withDeadline('the response', other.promise), 200);
  });

  it('screens input and meters every message once', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'screened' });
    const topics = (['block', 'warn'] as const).map((action) => ({ topic: `falcon${action}`, action }));
    const policy = { name: 'p', apply_to: ['input'], topic_deny_list: topics };
    const { id } = (await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).json;
    const client = await openSocket(api, { key });
    const calls = api.engine.calls.length;
    const [blocked] = await client.turn(ask('a falconblock'));
    assert.deepEqual([blocked.status, blocked.error.code, blocked.error.policy_id], [400, 'content_filtered', id]);
    assert.equal(blocked.headers['x-guardrail-policy'], id);
    assert.equal(api.engine.calls.length, calls);
    const flagged = await client.turn(ask('a falconwarn'));
    assert.equal(flagged.at(-1).response.moderation.policy_id, id);
    await client.turn(ask('a heron'));
    const rows = (await api.db.sql.select().from(usageRecords)).filter((row) => row.organizationId === organizationId);
    assert.deepEqual(
      rows.map(({ endpoint, outcome }) => [endpoint, outcome]),
      Array(2).fill(['/v1/responses', 'completed']),
    );
    assert.equal(new Set(rows.map(({ requestId }) => requestId)).size, 2);
    close(client);
  });

  it('aborts the running response when the client disconnects, and stores it as incomplete', async () => {
    const client = await openSocket(api);
    api.engine.play(async function* (_request, signal) {
      yield* words('one two three').slice(0, 3);
      await untilAborted(signal);
    });
    client.send(create());
    const { response } = await client.next();
    while ((await client.next()).type !== 'response.output_text.delta');
    client.socket.terminate();
    await until(() => api.engine.calls.at(-1)?.ended === true);
    await until(async () => (await api.send('GET', `/v1/responses/${response.id}`)).status === 200);
    const { json } = await api.send('GET', `/v1/responses/${response.id}`);
    assert.deepEqual([json.status, json.incomplete_details], ['incomplete', { reason: 'client_disconnected' }]);
    api.engine.play(() => stream(words('Hello there.')));
  });

  it('stops generating while the client does not read', async () => {
    const client = await openSocket(api);
    let sent = 0;
    const text = 'x'.repeat(50_000);
    api.engine.play(async function* (): AsyncGenerator<GenerationEvent> {
      yield { type: 'prompt-end', promptTokens: 1, cachedTokens: 0 };
      for (; sent < 2_000; sent += 1) yield { type: 'text-delta', choice: 0, text, tokens: 1 };
      yield { type: 'choice-end', choice: 0, reason: 'stop' };
      yield { type: 'usage', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: sent } };
    });
    client.socket.pause();
    client.send(create({ store: false }));
    let before = -1;
    await until(async () => {
      const isStalled = sent > 0 && sent === before;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return isStalled && sent === before;
    });
    assert.ok(sent < 1_000, `${sent} events were generated`);
    client.socket.terminate();
    await until(() => api.engine.calls.at(-1)?.ended === true);
    api.engine.play(() => stream(words('Hello there.')));
  });
});
