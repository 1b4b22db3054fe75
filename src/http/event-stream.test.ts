import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { useApi } from '../../test/harness.ts';
import { sendEvents } from './event-stream.ts';

describe('an event stream that is kept alive', () => {
  let release = Promise.withResolvers<void>();
  async function* slow() {
    yield { n: 1 };
    await release.promise;
    yield { n: 2 };
  }
  const api = useApi({
    extend: (app) => {
      const schema = { hide: true };
      for (const keepAlive of [true, false]) {
        const config = { scope: 'public' } as const;
        app.get(`/slow/${keepAlive}`, { schema, config }, (_request, reply) =>
          sendEvents(reply, slow(), { keepAlive }),
        );
      }
    },
  });

  for (const [keepAlive, silence] of [
    [true, ': keep-alive\n\n: keep-alive\n\n'],
    [false, ''],
  ] as const) {
    it(`sends ${keepAlive ? 'a comment for every 15 s' : 'nothing'} without an event`, async () => {
      release = Promise.withResolvers();
      mock.timers.enable({ apis: ['setInterval'] });
      try {
        const answer = await fetch(`${api.url}/slow/${keepAlive}`);
        mock.timers.tick(15_000);
        mock.timers.tick(15_000);
        release.resolve();
        const text = await withDeadline('the end of the stream', answer.text());
        assert.equal(text, `data: {"n":1}\n\n${silence}data: {"n":2}\n\ndata: [DONE]\n\n`);
      } finally {
        mock.timers.reset();
      }
    });
  }
});
