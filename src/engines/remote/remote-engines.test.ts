import { BUNDLED_MODELS } from '@quire/bundled-models';
import { embeddingConformance } from '../../../test/embedding-conformance.ts';
import { engineConformance } from '../../../test/engine-conformance.ts';
import { MODEL_NAME, startModelServer } from '../../../test/fixtures/model-server.ts';
import { moderationConformance } from '../../../test/moderation-conformance.ts';
import { serveRemotely } from '../../../test/remote-engine.ts';
import { rerankConformance } from '../../../test/rerank-conformance.ts';
import { createLogger } from '../../lib/logger.ts';
import { createBundledEmbedding } from '../bundled/bundled-embedding.ts';
import { createBundledModeration } from '../bundled/bundled-moderation.ts';
import { createBundledRerank } from '../bundled/bundled-rerank.ts';
import { createUpstreamEngine } from '../upstream/upstream-engine.ts';

const never = new AbortController().signal;

engineConformance('a generation engine in another process', async () => {
  const server = await startModelServer();
  const engine = createUpstreamEngine({
    baseUrls: [server.baseUrl],
    model: MODEL_NAME,
    apiKey: null,
    contextLength: null,
    proxy: null,
    logger: createLogger('silent'),
  });
  const { started, close } = await serveRemotely({ engine });
  return {
    engine: started.engine,
    running: server.running,
    close: async () => {
      await close();
      await engine.close();
      await server.close();
    },
  };
});

embeddingConformance('the bundled model in another process', async () => {
  const embedding = createBundledEmbedding(BUNDLED_MODELS.embedding);
  await embedding.check(never);
  const { started, close } = await serveRemotely({ embedding });
  return { engine: started.embedding, close };
});

rerankConformance('the bundled model in another process', async () => {
  const rerank = createBundledRerank(BUNDLED_MODELS.rerank);
  await rerank.check(never);
  const { started, close } = await serveRemotely({ rerank });
  return { engine: started.rerank, close };
});

moderationConformance('the bundled model in another process', async () => {
  const moderation = createBundledModeration(BUNDLED_MODELS.moderation);
  await moderation.check(never);
  const { started, close } = await serveRemotely({ moderation });
  return { engine: started.moderation, close };
});
