import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import type { GenerationRequest } from '../engines/engine.ts';
import { engineUnavailable } from '../errors.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { startBackground } from './background.ts';
import type { ResponseEvent } from './event-schema.ts';
import { findResponse } from './find-response.ts';
import { findStoredItem } from './previous-response.ts';
import { purgeResponses } from './purge-responses.ts';
import { RUN_RESPONSE, runBackground } from './run-background.ts';
import { ResponseResource } from './schema.ts';
import { beginResponseRun, selectResponseEvents } from './store.ts';
import { responses } from './tables.ts';

const body = { model: 'general-8b', input: 'Is it warm?', background: true };

describe('the token limit of background responses', () => {
  const api = useApi({ jobs: [RUN_RESPONSE], rateLimits: 'tokens=6000', limitClock: () => 0 });
  const request = { ...body, max_output_tokens: 1_000 };
  const estimate = 1_000 + Math.ceil(JSON.stringify(request).length / 4);
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining-tokens'));
  /** Queues a response with a new key. */
  const queue = async () => {
    const { key } = await api.makeKey();
    const answer = await api.send('POST', '/v1/responses', { key, body: request });
    assert.equal(remaining(answer), 6_000 - estimate);
    return { id: answer.json.id, left: async () => remaining(await api.send('GET', '/v1/models', { key })) };
  };
  const run = (id: string) => runBackground(api.deps, id, new AbortController().signal);

  it('counts the estimate until the run settles the tokens that it has used', async () => {
    const { id, left } = await queue();
    assert.equal(await left(), 6_000 - estimate);
    api.engine.play(() => stream(words('One two three.', 'stop', 400)));
    await run(id);
    assert.equal(await left(), 6_000 - 403);
    await run(id);
    assert.equal(await left(), 6_000 - 403, 'a run of an ended response charges nothing');
  });

  it('counts tokens beyond the estimate', async () => {
    const { id, left } = await queue();
    api.engine.play(() => stream(words('One two three.', 'stop', 4_000)));
    await run(id);
    assert.equal(await left(), 6_000 - 4_003);
  });

  it('counts the estimate and all tokens of a repeated run', async () => {
    const { id, left } = await queue();
    await beginResponseRun(api.db.sql, id);
    api.engine.play(() => stream(words('One two three.', 'stop', 400)));
    await run(id);
    assert.equal(await left(), 6_000 - estimate - 403);
  });

  it('gives the estimate back when the response is cancelled before its run', async () => {
    const { id, left } = await queue();
    await api.send('POST', `/v1/responses/${id}/cancel`);
    assert.equal(await left(), 6_000);
  });
});

describe('background responses', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  /** Queued responses run only while this is open. */
  let gate = Promise.withResolvers<void>();
  before(() => {
    api.deps.jobs.work(RUN_RESPONSE, async ({ responseId }, signal) => {
      await Promise.race([gate.promise, untilAborted(signal)]);
      await runBackground(api.deps, responseId, signal);
    });
    gate.resolve();
  });
  const create = async (fields: object = {}) =>
    (await api.send('POST', '/v1/responses', { body: { ...body, ...fields } })).json;
  const get = async (id: string, query = '') => api.send('GET', `/v1/responses/${id}${query}`);
  const follow = async (id: string, after?: number): Promise<ResponseEvent[]> => {
    const query = `?stream=true${after === undefined ? '' : `&starting_after=${after}`}`;
    return chunks((await withDeadline('the end of the stream', get(id, query))).text);
  };
  const ownOrganization = async (): Promise<string> => {
    const { rows } = await api.db.execute("select id from organizations where name = 'default'");
    return (rows[0] as { id: string }).id;
  };
  /** Queues a response that streams, whose output is not held back for screening. */
  const start = async () => {
    const caller = serviceCaller(await ownOrganization(), 'key_test');
    const call = { caller, requestId: 'req_test', endpoint: '/v1/responses', priority: 'interactive' } as const;
    return startBackground(api.deps, call, { ...body, stream: true });
  };
  /** A model that writes two words and stalls. */
  const stall = () => {
    playTurns(api.engine);
    const started = Promise.withResolvers<void>();
    api.engine.play(async function* (_request: GenerationRequest, signal) {
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield { type: 'text-delta', choice: 0, text: 'It is ', tokens: 2 };
      started.resolve();
      await untilAborted(signal);
    });
    return started.promise;
  };

  it('adds its items to its conversation when it completes, and none when it is cancelled', async () => {
    const added = [{ role: 'user', content: 'My name is "Ada".' }];
    const { id } = (await api.send('POST', '/v1/conversations', { body: { items: added } })).json;
    const items = async () => (await api.send('GET', `/v1/conversations/${id}/items?order=asc`)).json.data;
    playTurns(api.engine, says('It is cold.'));
    gate = Promise.withResolvers();
    const queued = await create({ conversation: id });
    const [{ id: deleted }] = await items();
    await api.send('DELETE', `/v1/conversations/${id}/items/${deleted}`);
    gate.resolve();
    await follow(queued.id);
    gate = Promise.withResolvers();
    const cancelled = await create({ conversation: { id } });
    await api.send('POST', `/v1/responses/${cancelled.id}/cancel`);
    gate.resolve();
    const texts = (await items()).map(({ content }: { content: { text: string }[] }) => content[0]?.text);
    assert.deepEqual(texts, ['Is it warm?', 'It is cold.'], 'an item that was deleted stays so');
  });

  it('is queued, runs as a job, and is retrieved and streamed from any event', async () => {
    gate = Promise.withResolvers();
    playTurns(api.engine, says('It is cold.'));
    const queued = await create({ metadata: { a: '1' } });
    assertSchema(ResponseResource, queued);
    assert.deepEqual([queued.status, queued.output, queued.background], ['queued', [], true]);
    assert.equal((await get(queued.id)).json.status, 'queued');
    gate.resolve();
    const events = await follow(queued.id);
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.deepEqual((await get(queued.id)).json, last.response);
    assert.deepEqual(last.response.metadata, { a: '1' });
    for (const after of [0, 3, events.length - 2])
      assert.deepEqual(await follow(queued.id, after), events.slice(after + 1));
    assert.deepEqual(await follow(queued.id, events.length), []);
  });

  it('streams while it runs, with stream: true', async () => {
    playTurns(api.engine, says('It is cold.'));
    const { text } = await api.send('POST', '/v1/responses', { body: { ...body, stream: true } });
    const events = chunks(text);
    assert.deepEqual([events[0].type, events.at(-1).type], ['response.created', 'response.completed']);
    assert.deepEqual(await follow(events[0].response.id), events);
  });

  it('a run that is stopped in the middle of a turn is continued by the next one', async () => {
    gate = Promise.withResolvers();
    const started = stall();
    const { id } = await start();
    const stop = new AbortController();
    const first = runBackground(api.deps, id, stop.signal);
    await withDeadline('the first text', started);
    while ((await selectResponseEvents(api.db.sql, id, -1)).events.length < 3)
      await new Promise((resolve) => setTimeout(resolve, 10));
    const before = (await get(id)).json;
    assert.deepEqual([before.status, before.output[0].content[0].text], ['in_progress', 'It is ']);
    assert.deepEqual([before.usage, before.completed_at], [null, null]);
    const next = await api.send('POST', '/v1/responses', {
      body: { ...body, background: false, previous_response_id: id },
    });
    assertError(next, 400, 'invalid_value', 'previous_response_id');
    stop.abort(new Error('the process stops'));
    await assert.rejects(first, /the process stops/);
    playTurns(api.engine, says('It is cold.'));
    gate.resolve();
    const events = await follow(id);
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      [...events.keys()],
    );
    assert.deepEqual(
      last.response.output.map((item) => item.type === 'message' && [item.status, item.content[0]?.text]),
      [
        ['incomplete', 'It is '],
        ['completed', 'It is cold.'],
      ],
    );
    const { messages } = chatPromptOf(api.engine.calls.at(-1)!);
    assert.deepEqual(messages, [{ role: 'user', content: body.input }], 'the interrupted text is not read again');
  });

  it('cancel ends a running response, and stops the model; later cancels change nothing', async () => {
    const started = stall();
    const { id } = await start();
    await withDeadline('the first text', started);
    const { status, json } = await api.send('POST', `/v1/responses/${id}/cancel`);
    assert.equal(status, 200);
    assert.deepEqual([json.status, json.incomplete_details.reason], ['cancelled', 'cancelled']);
    await withDeadline(
      'the abort',
      untilAborted(api.engine.calls[0]!.signal).catch(() => {}),
    );
    assert.deepEqual((await api.send('POST', `/v1/responses/${id}/cancel`)).json, json);
    const last = (await follow(id)).at(-1);
    assert.ok(last?.type === 'response.incomplete');
    assert.deepEqual(last.response, json);
  });

  it('delete stops a running response', async () => {
    const started = stall();
    const { id } = await start();
    await withDeadline('the first text', started);
    assert.equal((await api.send('DELETE', `/v1/responses/${id}`)).status, 200);
    await withDeadline(
      'the abort',
      untilAborted(api.engine.calls[0]!.signal).catch(() => {}),
    );
    assertError(await get(id), 404, 'response_not_found', 'response_id');
  });

  it('ends as failed when it has interrupted 20 runs', async () => {
    gate = Promise.withResolvers();
    playTurns(api.engine, says('It is cold.'));
    const { id } = await create();
    await api.db.sql.update(responses).set({ attempts: 20 }).where(eq(responses.id, id));
    gate.resolve();
    const last = (await follow(id)).at(-1);
    assert.ok(last?.type === 'response.failed');
    assert.deepEqual([last.response.error?.code, api.engine.calls.length], ['server_error', 0]);
  });

  it('ends as failed when the model cannot be called', async () => {
    playTurns(api.engine);
    api.engine.play(() => {
      throw engineUnavailable('It is away.', 1);
    });
    const { id } = await create();
    const last = (await follow(id)).at(-1);
    assert.ok(last?.type === 'response.failed');
    assert.equal(last.response.error?.code, 'engine_unavailable');
  });

  it('400 for a stream or a cancel of another response, 404 for unknown and foreign ones, 401, 403', async () => {
    playTurns(api.engine, says('Hi.'));
    const { id } = await create({ background: false });
    assertError(await get(id, '?stream=true'), 400, 'invalid_value', 'stream');
    assertError(await get(id, '?starting_after=1'), 400, 'invalid_value', 'starting_after');
    assertError(await get(id, '?stream=true&starting_after=-1'), 400, 'invalid_value', 'starting_after');
    assertError(await api.send('POST', `/v1/responses/${id}/cancel`), 400, 'invalid_value', 'response_id');
    const foreign = await api.makeKey({ organization: 'other' });
    const files = await api.makeKey({ scopes: ['files'] });
    const cancel = (options: object) => api.send('POST', `/v1/responses/${id}/cancel`, options);
    assertError(await cancel({ key: foreign.key }), 404, 'response_not_found', 'response_id');
    assertError(await cancel({ key: null }), 401, 'invalid_api_key');
    assertError(await cancel({ key: files.key }), 403, 'insufficient_scope');
    assertError(await get('resp_x', '?stream=true'), 404, 'response_not_found', 'response_id');
  });

  it('expire after exactly 24 hours, and are purged', async () => {
    playTurns(api.engine, says('Hi.'));
    const { id, created_at, output } = await create({ background: false });
    const end = (created_at + 24 * 60 * 60) * 1000;
    const organizationId = await ownOrganization();
    const caller = serviceCaller(organizationId, 'key_test');
    const at = (now: number) => findResponse({ db: api.db, now: () => now }, { caller } as Call, id);
    assert.equal((await at(end - 1)).id, id);
    await assert.rejects(at(end), /There is no response/);
    const item = (now: number) => findStoredItem({ db: api.db, now: () => now }, { caller } as Call, output[0].id);
    assert.equal((await item(end - 1))?.length, 1);
    assert.equal(await item(end), null);
    await purgeResponses({ db: api.db, now: () => end - 1 });
    assert.equal((await get(id)).status, 200, 'not purged before');
    await purgeResponses({ db: api.db, now: () => end });
    assert.equal((await get(id)).status, 404);
  });
});
