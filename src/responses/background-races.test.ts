import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { until, withDeadline } from '../../test/deadline.ts';
import { useApi } from '../../test/harness.ts';
import { playTurns, says } from '../../test/response-turns.ts';
import { holdStatement } from '../../test/support/hold-statement.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { followResponse, getResponse, startBackground } from './background.ts';
import type { ResponseEvent } from './event-schema.ts';
import { EventWriter, ResponseGone } from './event-writer.ts';
import { RUN_RESPONSE, runBackground } from './run-background.ts';
import type { ResponseResource } from './schema.ts';
import { createEmitter } from './start-response.ts';
import { beginResponseRun, selectResponse, selectResponseEvents } from './store.ts';

/** Statements of readers and writers of a background response, one of which is held. */
const READ_STATUS = /^select "status" from "responses"/;
const READ_EVENTS = /^select .* from "response_events"/;
const LOCK_RESPONSE = /from "responses" .* for update/;

const never = new AbortController().signal;

describe('races of background responses', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  let call: Call;
  before(async () => {
    const { organizationId, id } = await api.makeKey();
    const caller = serviceCaller(organizationId, id);
    call = { caller, requestId: 'req_test', endpoint: '/v1/responses', priority: 'interactive' };
  });
  const queue = () =>
    startBackground(api.deps, call, { model: 'general-8b', input: 'Is it warm?', background: true, stream: true });
  const run = (id: string) => runBackground(api.deps, id, never);
  const stored = async (id: string): Promise<ResponseResource> => {
    const row = await selectResponse(api.db.sql, call.caller.organizationId, id, new Date());
    return JSON.parse(row?.response ?? '{}');
  };
  const storedEvents = async (id: string) => (await selectResponseEvents(api.db.sql, id, -1)).events;

  for (const { name, statement } of [
    { name: 'status', statement: READ_STATUS },
    { name: 'events', statement: READ_EVENTS },
  ]) {
    it(`a stream has every event of a response that ends while its ${name} is read`, async (t) => {
      playTurns(api.engine, says('It is cold.'));
      const { id } = await queue();
      const held = holdStatement(t, statement);
      const following = Array.fromAsync(await followResponse(api.deps, call, { id, after: -1 }, never));
      await held.reached();
      await run(id);
      held.release();
      const events = await withDeadline('the end of the stream', following);
      assert.equal(events.at(-1)?.type, 'response.completed');
      assert.deepEqual(events, await storedEvents(id));
    });
  }

  it('a response that ends while it is retrieved is retrieved with its whole output', async (t) => {
    playTurns(api.engine, says('It is cold.'));
    const { id } = await queue();
    await beginResponseRun(api.db.sql, id);
    const held = holdStatement(t, READ_EVENTS);
    const reading = getResponse(api.deps, call, id);
    await held.reached();
    await run(id);
    held.release();
    const { status, output } = await reading;
    assert.ok(status === 'in_progress' || status === 'completed', status);
    assert.deepEqual(output, (await stored(id)).output);
  });

  /** A running response whose writer has written nothing yet, and its events. */
  const start = async (t: TestContext) => {
    const { id } = await queue();
    await beginResponseRun(api.db.sql, id);
    const emitter = createEmitter(await stored(id));
    const writer = new EventWriter(api.db, id, () => emitter.progress);
    t.after(() => writer.close());
    const end = () => emitter.end({ status: 'completed' }, 1);
    return { id, emitter, writer, end };
  };
  const add = (writer: EventWriter, events: readonly ResponseEvent[]) => {
    for (const event of events) writer.add(event);
  };

  it('the end of a response waits for the events that are being written, and loses none', async (t) => {
    const { id, emitter, writer, end } = await start(t);
    const held = holdStatement(t, LOCK_RESPONSE);
    const events = [emitter.created(), ...emitter.text('It is ')];
    add(writer, events);
    await held.reached();
    const last = [...emitter.text('cold.'), ...end()];
    add(writer, last);
    const ended = writer.end(emitter.resource());
    // A writer that does not wait has ended the response by then.
    for (let statement = 0; statement < 30; statement += 1) await api.db.execute('select 1');
    held.release();
    await ended;
    assert.deepEqual(await storedEvents(id), [...events, ...last]);
    assert.deepEqual(await stored(id), emitter.resource());
  });

  it('readers are notified of the end of a response whose events they have', async (t) => {
    const { id, emitter, writer, end } = await start(t);
    const notified: string[] = [];
    const connected = Promise.withResolvers<void>();
    const unlisten = api.db.listen('quire_responses', {
      onNotification: (payload) => notified.push(payload),
      onGap: () => connected.resolve(),
    });
    t.after(unlisten);
    await connected.promise;
    add(writer, [emitter.created(), ...end()]);
    await until(() => notified.includes(id));
    await writer.end(emitter.resource());
    await until(() => notified.filter((payload) => payload === id).length === 2);
  });

  it('a response that another process cancels while it ends stays cancelled', async (t) => {
    const { id, emitter, writer, end } = await start(t);
    const held = holdStatement(t, LOCK_RESPONSE);
    add(writer, [emitter.created(), ...end()]);
    const ended = assert.rejects(writer.end(emitter.resource()), ResponseGone);
    await held.reached();
    assert.equal((await api.send('POST', `/v1/responses/${id}/cancel`)).json.status, 'cancelled');
    held.release();
    await ended;
    assert.equal((await stored(id)).status, 'cancelled');
    const sequence = (await storedEvents(id)).map(({ sequence_number }) => sequence_number);
    assert.deepEqual(sequence, [...sequence.keys()]);
  });
});
