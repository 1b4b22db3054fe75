import { engineConformance } from '../../../test/engine-conformance.ts';
import { MODEL_NAME, startModelServer } from '../../../test/fixtures/model-server.ts';
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
