import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { engineConformance } from '../../../test/engine-conformance.ts';
import { MODEL_NAME, startModelServer } from '../../../test/fixtures/model-server.ts';
import { engineFor } from '../../../test/fixtures/scripted-upstream.ts';
import { createLogger } from '../../lib/logger.ts';
import { createUpstreamEngine } from './upstream-engine.ts';

engineConformance('an upstream', async () => {
  const server = await startModelServer();
  const engine = createUpstreamEngine({
    baseUrls: [server.baseUrl],
    model: MODEL_NAME,
    apiKey: null,
    contextLength: null,
    proxy: null,
    logger: createLogger('silent'),
  });
  return {
    engine,
    running: server.running,
    close: async () => {
      await engine.close();
      await server.close();
    },
  };
});

describe('context length of an upstream', () => {
  it('is that of a slot of llama-server, or a smaller one that the operator sets', async (t) => {
    const bodies: Record<string, unknown> = {
      '/props': { default_generation_settings: { n_ctx: 6144 } },
      '/v1/models': { data: [{ id: 'any', owned_by: 'llamacpp' }] },
    };
    const server = createServer(({ url = '' }, response) => response.end(JSON.stringify(bodies[url] ?? {})));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    const baseUrls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`];
    for (const [contextLength, expected] of [
      [null, 6144],
      [4096, 4096],
      [8192, 6144],
    ] as const) {
      const engine = engineFor(t, { baseUrls, contextLength });
      await engine.check(AbortSignal.timeout(10_000));
      assert.equal(engine.contextLength(), expected);
    }
  });
});
