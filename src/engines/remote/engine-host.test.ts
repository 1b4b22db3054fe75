import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDeadline } from '../../../test/deadline.ts';
import { connectPeers } from '../../../test/remote-engine.ts';
import type { EngineRuntime } from '../registry.ts';
import { EngineHost } from './engine-host.ts';

describe('the engines of a process', () => {
  it('are released for a process that ends while its engine starts', async (context) => {
    const starting = Promise.withResolvers<object>();
    const started = Promise.withResolvers<void>();
    const released = Promise.withResolvers<object>();
    const engine = {} as EngineRuntime;
    const host = new EngineHost({
      startShared: async (_input, owner) => {
        starting.resolve(owner);
        await started.promise;
        return { rerank: engine as never };
      },
      release: async (each, owner) => {
        assert.equal(each, engine);
        released.resolve(owner);
      },
    });
    const { client, server, close } = await connectPeers(host.open.bind(host));
    context.after(close);
    const acquiring = client.call('acquire', { kind: 'rerank', id: 'a', binding: undefined });
    const owner = await starting.promise;
    client.close();
    await assert.rejects(acquiring);
    await server.closed;
    started.resolve();
    assert.equal(await withDeadline('the release', released.promise), owner);
  });
});
