import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { calls, playTurns } from '../../../test/response-turns.ts';
import { stream, words } from '../../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../../test/support/open-session.ts';
import { untilBlocked } from '../../../test/support/until-blocked.ts';
import { lockOrganization } from '../../accounts/store.ts';
import { CallLog } from '../../lib/call-log.ts';
import { serviceCaller } from '../../lib/caller.ts';
import { minIdAt, newId } from '../../lib/ids.ts';
import { createLogger } from '../../lib/logger.ts';
import { RecordedAnswer } from '../../lib/recorded-answer.ts';
import { RUN_RESPONSE, runBackground } from '../../responses/run-background.ts';
import { maintainRequestLog } from '../maintain-request-log.ts';
import { RequestLog } from '../request-log.ts';
import { hasReadableContents } from './manage-contents.ts';
import { DETECTORS } from './redact.ts';
import { RequestContents, RequestRecording } from './schema.ts';
import { selectRecording, upsertRecording } from './store.ts';

const DAY_MS = 86_400_000;
const SETTINGS = '/v1/request-recording';
const MARKER = 'Zebrafink';

describe('recorded contents', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  let own: Awaited<ReturnType<typeof api.makeKey>>;
  let owner: SignedIn;
  /** Forgets what this process knows of the setting. */
  const forget = () => api.requestLog.contents.evict();
  const set = async (body: object, user = owner) => {
    const answer = await user.send('PATCH', SETTINGS, body);
    assert.equal(answer.status, 200, answer.text);
    forget();
    return answer.json;
  };
  const ask = async (content: string, body: object = {}, key = own.key) => {
    const messages = [{ role: 'user', content }];
    const answer = await api.send('POST', '/v1/chat/completions', {
      key,
      body: { model: 'general-8b', messages, ...body },
    });
    await api.requestLog.flush();
    return answer.headers.get('x-request-id') ?? '';
  };
  const read = (id: string | null, key = own.key) => api.send('GET', `/v1/requests/${id}/contents`, { key });
  const stored = async (organizationId = own.organizationId): Promise<string[]> =>
    (
      await api.db.execute('select id from request_contents where organization_id = $1 order by id', [organizationId])
    ).rows.map((row) => (row as { id: string }).id);
  /** Adds a request of a time. */
  const add = (at: number, count: number, log: RequestLog = api.requestLog) => {
    const callLog = new CallLog();
    callLog.answer = new RecordedAnswer();
    callLog.answer.add({ type: 'text', call: 0, choice: 0, index: 0, text: 'Nine.' });
    const requestId = minIdAt('request', at) + String(count).padStart(16, '0');
    const { organizationId, id: keyId } = own;
    const call = { organizationId, keyId, route: '/v1/chat/completions', status: 200, durationMs: 1, isBatch: false };
    log.add({ ...call, requestId, traceId: null, log: callLog, body: { model: 'general-8b', input: 'When?' } });
    return requestId;
  };

  beforeEach(async () => {
    api.engine.play(() => stream(words('Hello there.')));
    own = await api.makeKey({ organization: newId('organization') });
    owner = await openUserSession(api, [own.organizationId]);
    forget();
  });

  it('stay disabled when another owner changes the retention at the same moment', async () => {
    await set({ enabled: true });
    const { organizationId } = own;
    const [changing] = await api.db.sql.transaction(async (sql) => {
      await lockOrganization(sql, organizationId);
      const row = await selectRecording(sql, organizationId);
      assert.ok(row !== null);
      await upsertRecording(sql, { ...row, isEnabled: false });
      const running = owner.send('PATCH', SETTINGS, { retention_days: 3 });
      await untilBlocked(api.db, running);
      return [running];
    });
    const { json } = await changing;
    assert.deepEqual([json.enabled, json.retention_days], [false, 3]);
  });

  it('are not stored when recording is disabled after they were redacted', async () => {
    await set({ enabled: true });
    const { organizationId } = own;
    const prepare: typeof api.db.prepare = (name, text) => {
      const run = api.db.prepare(name, text);
      return async (rows) => {
        await api.db.execute('update request_recordings set is_enabled = false where organization_id = $1', [
          organizationId,
        ]);
        return run(rows);
      };
    };
    const { sql, withLock } = api.db;
    const log = new RequestLog({ db: { sql, withLock, prepare }, logger: createLogger('silent'), now: Date.now });
    add(Date.now(), 1, log);
    await log.flush();
    assert.deepEqual(await stored(), []);
  });

  /** Tables with the marker in any column. */
  const tablesWith = async (marker: string) => {
    const { rows } = await api.db.execute(
      "select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace in ('public'::regnamespace, 'pgboss'::regnamespace)",
    );
    const found: string[] = [];
    for (const { name } of rows as { name: string }[]) {
      const { rows: hits } = await api.db.execute(`select 1 from ${name} as t where t::text like $1 limit 1`, [
        `%${marker}%`,
      ]);
      if (hits.length > 0) found.push(name);
    }
    return found;
  };

  it('are stored nowhere while recording is off, never switched on, and with store: false', async () => {
    api.engine.play(() => stream(words(`${MARKER} sings.`)));
    const bodies = [{}, { stream: true }, { model: 'no-such-model' }, { temperature: 'hot' }];
    for (const body of bodies) assert.equal((await read(await ask(MARKER, body))).status, 404);
    await set({ enabled: true });
    const declined = await ask(MARKER, { store: false });
    const response = { model: 'general-8b', input: MARKER, store: false };
    await api.send('POST', '/v1/responses', { key: own.key, body: response });
    await set({ enabled: false });
    for (const body of bodies) await ask(MARKER, body);
    assert.deepEqual([(await read(declined)).status, await stored()], [404, []]);
    assert.deepEqual(await tablesWith(MARKER), []);
    await set({ enabled: true });
    await ask(MARKER);
    assert.equal((await tablesWith(MARKER)).length, 1);
  });

  it('have the body and the answer of every protocol, streamed or not, also of rejected requests', async () => {
    await set({ enabled: true });
    for (const content of AWKWARD_TEXTS) {
      api.engine.play(() => stream(words(content)));
      for (const isStreamed of [false, true]) {
        const { status, json } = await read(await ask(content, { stream: isStreamed }));
        assert.equal(status, 200);
        assertSchema(RequestContents, json);
        assert.equal(json.prompt.messages[0].content, content);
        assert.deepEqual(json.answer, [{ type: 'text', call: 0, choice: 0, text: content.trimStart() }]);
        assert.equal(json.is_truncated, false);
      }
    }
    api.engine.play(() => stream(words('At nine.')));
    const messages = [{ role: 'user', content: 'When?' }];
    const others: [string, object][] = [
      ['/v1/completions', { prompt: 'When?' }],
      ['/v1/responses', { input: 'When?' }],
      ['/v1/messages', { max_tokens: 9, messages }],
      ['/api/chat', { messages }],
      ['/api/generate', { prompt: 'When?' }],
    ];
    for (const [path, body] of others) {
      const sent = { model: 'general-8b', ...body };
      const answer = await api.send('POST', path, { key: own.key, body: sent });
      await api.requestLog.flush();
      const { json } = await read(answer.headers.get('x-request-id'));
      assert.equal(json.answer?.[0]?.text, 'At nine.', `${path} ${answer.text} ${JSON.stringify(json)}`);
      assert.match(JSON.stringify(json.prompt), /When\?/);
    }
    const rejected = (await read(await ask('When?', { temperature: 'hot' }))).json;
    assert.deepEqual([rejected.prompt.temperature, rejected.answer], ['hot', []]);
    const embedded = await api.send('POST', '/v1/embeddings', {
      key: own.key,
      body: { model: 'embed-large-en-v1.5', input: 'x' },
    });
    await api.requestLog.flush();
    assert.equal((await read(embedded.headers.get('x-request-id'))).status, 404);
  });

  it('have tool calls, and the answer of a background response, but no chat of a person', async () => {
    await set({ enabled: true });
    playTurns(api.engine, calls(['add', { a: 1 }]));
    const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
    const { json } = await read(await ask('Add', { tools }));
    assert.deepEqual(json.answer, [{ type: 'tool_call', call: 0, choice: 0, name: 'add', text: '{"a":1}' }]);
    api.engine.play(() => stream(words('At nine.')));
    const body = { model: 'general-8b', input: 'When?', background: true };
    const queued = await api.send('POST', '/v1/responses', { key: own.key, body });
    await runBackground(api.deps, queued.json.id, new AbortController().signal);
    await api.requestLog.flush();
    const response = (await read(queued.headers.get('x-request-id'))).json;
    assert.deepEqual([response.prompt.input, response.answer[0].text], ['When?', 'At nine.']);
    const before = await stored();
    const chat = await owner.send('POST', '/v1/chats', {});
    const message = await owner.send('POST', `/v1/chats/${chat.json.id}/messages`, { model: 'general-8b', text: 'Hi' });
    await runBackground(api.deps, message.json.id, new AbortController().signal);
    await api.requestLog.flush();
    assert.deepEqual(await stored(), before);
  });

  it('are redacted before they are stored, also where the answer comes in fragments', async () => {
    await set({ enabled: true, patterns: ['acme-\\d+'] });
    api.engine.play(() => stream(words('Write to ada@example.com about acme-42.')));
    for (const isStreamed of [false, true]) {
      const { json } = await read(await ask('I am bob@example.com', { stream: isStreamed }));
      assert.equal(json.prompt.messages[0].content, 'I am [email]');
      assert.equal(json.answer[0].text, 'Write to [email] about [redacted].');
    }
    assert.deepEqual(
      await tablesWith('example.com').then((names) => names.filter((name) => /contents/.test(name))),
      [],
    );
    await set({ detectors: [], patterns: [] });
    assert.equal(
      (await read(await ask('I am bob@example.com'))).json.prompt.messages[0].content,
      'I am bob@example.com',
    );
  });

  it('stop in another process immediately despite its cache, and are deleted by the deletion of all contents', async () => {
    await set({ enabled: true });
    const other = new RequestLog({ db: api.db, logger: createLogger('silent'), now: Date.now });
    const now = Date.now();
    const first = add(now, 1, other);
    await other.flush();
    assert.deepEqual(await stored(), [first]);
    // The other process has the setting in its cache, and contents in memory.
    add(now, 2, other);
    await set({ enabled: false });
    const deleted = await owner.send('DELETE', `${SETTINGS}/contents`);
    assert.deepEqual(deleted.json, { id: own.organizationId, object: 'request.contents', deleted: true });
    add(now, 3, other);
    await other.flush();
    assert.deepEqual(await stored(), []);
    assert.equal((await owner.send('GET', SETTINGS)).json.has_contents, false);
  });

  it('are read by their caller and with the scope keys, deleted by owners, and by no other organization', async () => {
    await set({ enabled: true });
    const id = await ask('Hi');
    const name = (await api.db.execute('select name from organizations where id = $1', [own.organizationId]))
      .rows[0] as {
      name: string;
    };
    const colleague = await api.makeKey({ organization: name.name, scopes: ['inference'] });
    const foreign = await api.makeKey({ organization: newId('organization') });
    const developer = await openUserSession(api, [own.organizationId], { role: 'developer' });
    const path = `/v1/requests/${id}/contents`;
    assert.equal((await read(id)).status, 200);
    assert.equal((await owner.send('GET', path)).status, 200);
    assertError(await developer.send('GET', path), 403, 'insufficient_scope');
    assertError(await read(id, colleague.key), 403, 'insufficient_scope');
    for (const key of [foreign.key, api.key])
      assertError(await read(id, key), 404, 'request_contents_not_found', 'request_id');
    assertError(await read('no-id'), 404, 'request_contents_not_found', 'request_id');
    assertError(await api.send('GET', path, { key: null }), 401, 'invalid_api_key', null);
    const detail = async (key: string) => (await api.send('GET', `/v1/requests/${id}`, { key })).json.has_contents;
    assert.deepEqual([await detail(own.key), await detail(colleague.key), await detail(api.key)], [true, false, false]);
    for (const wrong of [developer, await openUserSession(api, [own.organizationId], { role: 'viewer' })])
      assert.equal((await wrong.send('DELETE', path)).status, 403);
    const foreignOwner = await openUserSession(api, [foreign.organizationId]);
    assertError(await foreignOwner.send('DELETE', path), 404, 'request_contents_not_found', 'request_id');
    await foreignOwner.send('DELETE', `${SETTINGS}/contents`);
    const other = await ask('Hi');
    assert.deepEqual((await owner.send('DELETE', path)).json, { id, object: 'request.contents', deleted: true });
    assertError(await owner.send('DELETE', path), 404, 'request_contents_not_found', 'request_id');
    assert.deepEqual(await stored(), [other]);
    assert.equal((await api.send('GET', `/v1/requests/${id}`, { key: own.key })).json.has_contents, false);
  });

  it('expire after the days of their organization, exactly, and are deleted then; partitions go with the log', async () => {
    await set({ enabled: true, retention_days: 2 });
    const now = Date.now();
    const requestId = add(now, 1);
    await api.requestLog.flush();
    const foreign = await api.makeKey({ organization: newId('organization') });
    const foreignOwner = await openUserSession(api, [foreign.organizationId]);
    await set({ enabled: true, retention_days: 365 }, foreignOwner);
    const kept = await ask('Hi', {}, foreign.key);
    const at = async (ms: number) => {
      await maintainRequestLog({ ...api.deps, now: () => now + ms });
      return stored();
    };
    assert.equal((await read(requestId)).json.expires_at, now + 2 * DAY_MS);
    const caller = serviceCaller(own.organizationId, own.id);
    const isReadable = (ms: number) => hasReadableContents({ db: api.db, now: () => now + ms }, caller, requestId);
    assert.deepEqual([await isReadable(2 * DAY_MS - 1), await isReadable(2 * DAY_MS)], [true, false]);
    assert.deepEqual(await at(2 * DAY_MS), [requestId]);
    assert.deepEqual(await at(2 * DAY_MS + 1), []);
    const again = add(now - 2 * DAY_MS + 60_000, 2);
    const gone = add(now - 2 * DAY_MS - 1, 3);
    await maintainRequestLog({ ...api.deps, now: () => now - DAY_MS });
    await api.requestLog.flush();
    assert.deepEqual([(await read(again)).status, (await read(gone)).status], [200, 404]);
    assert.equal((await api.send('GET', `/v1/requests/${gone}`, { key: own.key })).json.has_contents, false);
    assert.deepEqual(await stored(foreign.organizationId), [kept]);
    await at((api.deps.config.requestLogDays + 2) * DAY_MS);
    assert.deepEqual(await stored(foreign.organizationId), []);
  });
});

describe('the settings of recording', () => {
  const api = useApi();
  let owner: SignedIn;
  let organizationId: string;
  before(async () => {
    organizationId = (await api.makeKey({ organization: 'harbour' })).organizationId;
    owner = await openUserSession(api, [organizationId]);
  });

  it('are off unless an owner changes them, for one organization alone, and audited without patterns', async () => {
    const defaults = {
      enabled: false,
      retention_days: 7,
      detectors: [...DETECTORS],
      patterns: [],
      has_contents: false,
    };
    const { json } = await owner.send('GET', SETTINGS);
    assertSchema(RequestRecording, json);
    assert.deepEqual(json, { object: 'request.recording', ...defaults });
    for (const days of [1, 365])
      assert.equal((await owner.send('PATCH', SETTINGS, { retention_days: days })).status, 200);
    await owner.send('PATCH', SETTINGS, { enabled: true, patterns: ['it\'s "secret"'] });
    const viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    const foreign = await openUserSession(api, [(await api.makeKey({ organization: 'other' })).organizationId]);
    assert.deepEqual((await viewer.send('GET', SETTINGS)).json.patterns, ['it\'s "secret"']);
    assert.deepEqual((await foreign.send('GET', SETTINGS)).json, { object: 'request.recording', ...defaults });
    const { rows } = await api.db.execute(
      "select changes from audit_events where action = 'organization.updated' and actor = $1 order by id desc limit 1",
      [owner.id],
    );
    const changes = [
      { field: 'request_recording.enabled', from: false, to: true },
      { field: 'request_recording.patterns' },
    ];
    assert.deepEqual(rows, [{ changes }]);
  });

  it('403 for others than owners, 400 naming the field, 401 without a caller', async () => {
    for (const role of ['developer', 'viewer'] as const) {
      const user = await openUserSession(api, [organizationId], { role });
      assert.equal((await user.send('PATCH', SETTINGS, { enabled: false })).status, 403);
      assert.equal((await user.send('DELETE', `${SETTINGS}/contents`)).status, 403);
    }
    const { key } = await api.makeKey({ organization: 'harbour', scopes: ['inference', 'keys'] });
    assert.equal((await api.send('PATCH', SETTINGS, { key, body: { enabled: false } })).status, 403);
    assert.equal((await api.send('GET', SETTINGS, { key })).json.enabled, true);
    const wrong: [object, string][] = [
      ...[0, 366, 1.5, '9'].map((days): [object, string] => [{ retention_days: days }, 'retention_days']),
      ...['(', '(?<a', 'x'.repeat(257), '', 'a\u0000'].map((each): [object, string] => [
        { patterns: ['a', each] },
        'patterns.1',
      ]),
      [{ patterns: Array.from({ length: 21 }, () => 'a') }, 'patterns'],
      [{ detectors: ['face'] }, 'detectors.0'],
      [{ detectors: ['email', 'email'] }, 'detectors'],
      [{ enabled: 1 }, 'enabled'],
    ];
    for (const [body, param] of wrong)
      assertError(await owner.send('PATCH', SETTINGS, body), 400, 'invalid_value', param);
    for (const [method, path] of [
      ['GET', SETTINGS],
      ['PATCH', SETTINGS],
      ['DELETE', `${SETTINGS}/contents`],
      ['DELETE', `/v1/requests/${newId('request')}/contents`],
    ] as const)
      assert.equal((await api.send(method, path, { key: null, ...(method === 'PATCH' && { body: {} }) })).status, 401);
    assert.equal((await owner.send('GET', SETTINGS)).json.enabled, true);
  });
});
