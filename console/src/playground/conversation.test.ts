import '../../test/browser-globals.ts';

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { openEventStream, type RecordedRequest, recordRequests } from '../../test/record-requests.ts';
import { Conversation } from './conversation.ts';
import { DEFAULT_SETTINGS, type PlaygroundMode } from './request.ts';
import { answerText, type Turn } from './turns.ts';

const settings = (mode: PlaygroundMode = 'chat') => ({
  ...DEFAULT_SETTINGS,
  mode,
  model: 'general-8b',
  knowledgeBases: [],
});
const delta = (content: string) => ({ choices: [{ delta: { content } }] });
const finish = { choices: [{ delta: {}, finish_reason: 'stop' }] };

/** The part of the turns that a page shows. */
const shown = (turns: readonly Turn[]) =>
  turns.map((turn) => (turn.role === 'assistant' ? `${turn.state}: ${answerText(turn)}` : `${turn.role}`));
const userTexts = ({ body }: RecordedRequest) =>
  (body as { messages: { role: string; content: string }[] }).messages.map(({ content }) => content);

/** A conversation whose answers are streamed by the test. */
function setUp(t: TestContext) {
  const streams: ReturnType<typeof openEventStream>[] = [];
  const requests = recordRequests(t, (request) => {
    const stream = openEventStream(request);
    streams.push(stream);
    return stream.response;
  });
  const conversation = new Conversation();
  t.after(() => conversation.stop());
  /** Sends a message, and waits until the first words of its answer are shown. */
  const begin = async () => {
    const answered = conversation.send('Is it warm?', settings());
    await until(() => streams.length > 0);
    await streams[0]?.send(delta('It is '));
    await until(() => shown(conversation.getTurns()).at(-1) === 'running: It is ');
    return { answered };
  };
  return { conversation, requests, streams, begin };
}

describe('a conversation while an answer is streamed', () => {
  it('"New chat" ends the request and shows nothing of it, whatever still arrives', async (t) => {
    const { conversation, requests, streams, begin } = setUp(t);
    const { answered: cleared } = await begin();
    const published: string[] = [];
    conversation.subscribe(() => published.push(JSON.stringify(conversation.getTurns())));
    conversation.clear();
    assert.deepEqual([conversation.getTurns(), conversation.getPhase()], [[], 'empty']);
    assert.equal(requests[0]?.signal.aborted, true);
    await streams[0]?.send(delta('cold.'));
    await streams[0]?.end();
    await cleared;
    assert.deepEqual([conversation.getTurns(), conversation.getPhase()], [[], 'empty']);
    const answered = conversation.send('And tomorrow?', settings());
    await until(() => streams.length === 2);
    await streams[1]?.send(delta('Colder.'));
    await streams[1]?.send(finish);
    await streams[1]?.end();
    await answered;
    assert.deepEqual(shown(conversation.getTurns()), ['user', 'done: Colder.']);
    assert.deepEqual(userTexts(requests[1]!), ['And tomorrow?'], 'the cleared messages are not sent');
    assert.deepEqual(
      published.filter((turns) => turns.includes('Is it warm?')),
      [],
      'an answer that was cleared came back',
    );
  });

  it('"Stop" keeps what has arrived, and the next message follows it', async (t) => {
    const { conversation, requests, streams, begin } = setUp(t);
    const { answered } = await begin();
    conversation.stop();
    await answered;
    assert.deepEqual(shown(conversation.getTurns()), ['user', 'stopped: It is ']);
    assert.equal(conversation.getPhase(), 'idle');
    void conversation.send('And tomorrow?', settings());
    await until(() => streams.length === 2);
    assert.deepEqual(userTexts(requests[1]!), ['Is it warm?', 'It is ', 'And tomorrow?']);
  });

  it('a message that is sent again replaces the answer and everything after it', async (t) => {
    const { conversation, requests, streams, begin } = setUp(t);
    await begin();
    const answered = conversation.resend(0, 'Is it dry?', settings());
    await until(() => streams.length === 2);
    await streams[0]?.send(delta('warm.'));
    await streams[1]?.send(delta('Yes.'));
    await streams[1]?.end();
    await answered;
    assert.deepEqual(shown(conversation.getTurns()), ['user', 'done: Yes.']);
    assert.equal(requests[0]?.signal.aborted, true);
    assert.deepEqual(userTexts(requests[1]!), ['Is it dry?']);
  });

  it('a copy for a comparison has neither the running answer nor an id twice', async (t) => {
    const { conversation, begin } = setUp(t);
    await begin();
    const other = new Conversation();
    other.startFrom(conversation.getTurns());
    assert.deepEqual(shown(other.getTurns()), ['user']);
    void other.send('And tomorrow?', settings());
    const ids = other.getTurns().map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    other.stop();
  });

  for (const { name, end, state } of [
    { name: 'whose connection is lost', end: 'lose', state: 'lost' },
    { name: 'that the service ends with an error', end: 'fail', state: 'failed' },
    { name: 'that ends', end: 'end', state: 'done' },
  ] as const) {
    it(`an answer ${name} is shown as ${state} with all that has arrived, and can be requested again`, async (t) => {
      const { conversation, requests, streams, begin } = setUp(t);
      const { answered } = await begin();
      await streams[0]?.send(delta('cold.'));
      const error = { message: 'The model stopped.', code: 'server_error', param: null };
      if (end === 'fail') await streams[0]?.send({ error });
      if (end === 'lose') await streams[0]?.lose();
      else await streams[0]?.end();
      await answered;
      assert.deepEqual(shown(conversation.getTurns()), ['user', `${state}: It is cold.`]);
      const last = conversation.getTurns().at(-1);
      assert.equal(last?.role === 'assistant' && last.error?.message, end === 'fail' ? error.message : undefined);
      void conversation.retry(settings());
      await until(() => streams.length === 2);
      assert.deepEqual(userTexts(requests[1]!), ['Is it warm?']);
    });
  }

  it('sends every text unchanged, to both routes', async (t) => {
    const { conversation, requests, streams } = setUp(t);
    for (const text of AWKWARD_TEXTS) {
      conversation.clear();
      void conversation.send(text, settings());
      conversation.clear();
      void conversation.send(text, settings('responses'));
    }
    await until(() => streams.length === 2 * AWKWARD_TEXTS.length);
    for (const [at, text] of AWKWARD_TEXTS.entries()) {
      const [chat, responses] = requests.slice(2 * at);
      assert.deepEqual([chat?.path, responses?.path], ['/v1/chat/completions', '/v1/responses']);
      assert.deepEqual((chat!.body as { messages: object }).messages, [{ role: 'user', content: text }]);
      assert.deepEqual((responses!.body as { input: object }).input, [{ role: 'user', content: text }]);
    }
  });
});
