import { fileURLToPath } from 'node:url';
import { createBundledEmbedding } from '../src/engines/bundled/embedding/bundled-embedding.ts';
import type { EmbeddingEngine } from '../src/engines/embedding-engine.ts';
import { catalogueOn, type TestApiOptions } from './harness.ts';

const FILE = fileURLToPath(new URL('../models/quire-embed-1.bin', import.meta.url));

/** The embedding model that comes with Quire. The test closes it. */
export function bundledEmbedder(): EmbeddingEngine {
  return createBundledEmbedding({ file: FILE, name: 'quire-embed-1' });
}

/** The catalogue with `engine` behind the embedding model. */
export function embeddedBy(engine: EmbeddingEngine): TestApiOptions {
  return {
    models: (generation) =>
      catalogueOn(generation).map((model) =>
        model.id === 'embed-large-en-v1.5' ? { ...model, embedding: engine } : model,
      ),
  };
}
