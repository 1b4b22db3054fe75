import '../../test/browser-globals.ts';

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { until, withDeadline } from '../../../test/deadline.ts';
import { openEventStream, recordRequests } from '../../test/record-requests.ts';
import { LiveAnswer } from './live-answer.ts';

const PATH = '/v1/chats/chat_1/messages/resp_1';
const delta = (sequence_number: number, text: string) => ({
  type: 'response.output_text.delta',
  sequence_number,
  output_index: 0,
  delta: text,
});

/** An answer whose events are streamed by the test. */
function setUp(t: TestContext) {
  const streams: ReturnType<typeof openEventStream>[] = [];
  const requests = recordRequests(t, (request) => {
    const stream = openEventStream(request);
    streams.push(stream);
    return stream.response;
  });
  const live = new LiveAnswer();
  const abort = new AbortController();
  t.after(() => abort.abort());
  const text = () =>
    live
      .getState()
      .parts.map((part) => (part.kind === 'text' ? part.text : part.kind))
      .join('|');
  const followed = live.follow(PATH, abort.signal, 0);
  return { requests, streams, live, abort, text, followed };
}

describe('a live answer', () => {
  it('shows what arrives, and ends with the stream', async (t) => {
    const { requests, streams, live, text, followed } = setUp(t);
    await until(() => streams.length === 1);
    streams[0]?.send(delta(1, 'It is '));
    await until(() => text() === 'It is ');
    streams[0]?.send(delta(2, 'cold.'));
    await streams[0]?.end();
    await withDeadline('the end', followed);
    assert.equal(text(), 'It is cold.');
    assert.equal(live.getState().isLost, false);
    assert.deepEqual(
      requests.map(({ method, path, query }) => [method, path, query]),
      [['GET', PATH, { stream: 'true' }]],
    );
  });

  it('continues behind the last event after the connection is lost', async (t) => {
    const { requests, streams, text, followed } = setUp(t);
    await until(() => streams.length === 1);
    streams[0]?.send(delta(7, 'It is '));
    await until(() => text() === 'It is ');
    streams[0]?.lose();
    await until(() => streams.length === 2);
    assert.deepEqual(requests[1]?.query, { stream: 'true', starting_after: '7' });
    streams[1]?.send(delta(8, 'cold.'));
    await streams[1]?.end();
    await withDeadline('the end', followed);
    assert.equal(text(), 'It is cold.');
  });

  it('ends when the answer has failed', async (t) => {
    const { streams, text, followed } = setUp(t);
    await until(() => streams.length === 1);
    streams[0]?.send(delta(1, 'It is '));
    const error = { message: 'The model is away.', code: 'server_error', param: null };
    streams[0]?.send({ type: 'response.failed', sequence_number: 2, response: { status: 'failed', error } });
    await withDeadline('the end', followed);
    assert.deepEqual([text(), streams.length], ['It is ', 1]);
  });

  it('asks no more when it is left', async (t) => {
    const { streams, abort, followed } = setUp(t);
    await until(() => streams.length === 1);
    abort.abort();
    await withDeadline('the end', followed);
    assert.equal(streams.length, 1);
  });
});
