import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sendEvents, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { chunks } from '../harness.ts';
import { newDataDir, type Service, startService, useEmbeddedDatabases } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

const WORDS = 60;
const WORD_MS = 10;

/** A model that writes slowly, so that kills meet it. */
function startSlowModel(): Promise<TestServer> {
  return startServer(async (_request, response) => {
    const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'slow' };
    for (let word = 0; word < WORDS && !response.destroyed; word += 1) {
      sendEvents(response, [
        { ...head, choices: [{ index: 0, delta: { content: `w${word} ` }, finish_reason: null }] },
      ]);
      await pause(WORD_MS);
    }
    const usage = { prompt_tokens: 3, completion_tokens: WORDS, total_tokens: WORDS + 3 };
    const ending = { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    sendEvents(response, [ending, { ...head, choices: [], usage }, '[DONE]']);
    response.end();
  });
}

describe('a background response of a service that is killed', () => {
  let model: TestServer;
  before(async () => {
    model = await startSlowModel();
  });
  after(() => model.close());

  const call = (service: Service, path: string, body?: object) =>
    fetch(`${service.url}/v1/responses${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  it('is completed after the restart, and its stream continues what clients have read', NO_TIME_LIMIT, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const dataDir = newDataDir();
      const options = { dataDir, env: { QUIRE_UPSTREAM_URL: model.baseUrl } };
      const service = await startService(options);
      const body = { model: 'general-70b', input: 'Write.', background: true, stream: true };
      const { body: frames } = await call(service, '', body);
      let text = '';
      const read = (async () => {
        for await (const bytes of frames ?? []) text += Buffer.from(bytes).toString();
      })().catch(() => {});
      while (!text.includes('output_text.delta')) await pause(5);
      await pause(Math.random() * WORDS * WORD_MS * 0.8);
      await service.kill();
      await read;
      // The last frame may be cut.
      const whole = text
        .slice(0, text.lastIndexOf('\n\n'))
        .split('\n\n')
        .map((frame) => frame.slice('data: '.length));
      const seen = whole.filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame));
      const { id } = seen[0].response;

      const restarted = await startService(options);
      const events = chunks(await (await call(restarted, `/${id}?stream=true`)).text());
      assert.deepEqual(events.slice(0, seen.length), seen);
      assert.deepEqual(
        events.map(({ sequence_number }) => sequence_number),
        [...events.keys()],
      );
      const { type, response } = events.at(-1);
      assert.equal(type, 'response.completed');
      assert.deepEqual(await (await call(restarted, `/${id}`)).json(), response);
      const message = response.output.at(-1);
      assert.deepEqual([message.status, message.content[0].text.split(' ').length], ['completed', WORDS + 1]);
      await restarted.stop();
    }
  });
});
