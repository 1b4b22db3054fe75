import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { useApi } from '../../test/harness.ts';
import { sendEvents } from './event-stream.ts';

describe('an event stream', () => {
  let release = Promise.withResolvers<void>();
  async function* slow() {
    yield { n: 1 };
    await release.promise;
    yield { n: 2 };
  }
  async function* silent() {
    await release.promise;
    yield { n: 1 };
  }
  const api = useApi({
    extend: (app) => {
      const route = { schema: { hide: true }, config: { scope: 'public' } } as const;
      app.get('/slow', route, (_request, reply) => sendEvents(reply, slow()));
      app.get('/silent', route, (_request, reply) => sendEvents(reply, silent()));
    },
  });

  it('sends a comment for every 10 s without an event', async () => {
    release = Promise.withResolvers();
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const answer = await fetch(`${api.url}/slow`);
      mock.timers.tick(9_999);
      mock.timers.tick(1);
      mock.timers.tick(10_000);
      release.resolve();
      const text = await withDeadline('the end of the stream', answer.text());
      const silence = ': keep-alive\n\n: keep-alive\n\n';
      assert.equal(text, `data: {"n":1}\n\n${silence}data: {"n":2}\n\ndata: [DONE]\n\n`);
    } finally {
      mock.timers.reset();
    }
  });

  it('sends its head before the first event', async () => {
    release = Promise.withResolvers();
    const answer = await withDeadline('the head', fetch(`${api.url}/silent`));
    assert.equal(answer.status, 200);
    release.resolve();
    assert.equal(await answer.text(), 'data: {"n":1}\n\ndata: [DONE]\n\n');
  });
});
