import { BUNDLED_MODELS } from '@quire/bundled-models';
import { createBundledEmbedding } from '../src/engines/bundled/bundled-embedding.ts';
import type { EmbeddingEngine } from '../src/engines/embedding-engine.ts';
import { bindCatalogue, type TestApiOptions } from './harness.ts';

/** The bundled embedding model. The test closes it. */
export function bundledEmbedder(): EmbeddingEngine {
  return createBundledEmbedding(BUNDLED_MODELS.embedding);
}

/** Like `bundledEmbedder`, and records the embedded texts in order. */
export function recordingEmbedder(): EmbeddingEngine & { embedded: string[] } {
  const engine = bundledEmbedder();
  const embedded: string[] = [];
  return {
    embedded,
    backend: () => engine.backend(),
    fingerprint: () => engine.fingerprint(),
    embed: (request, signal) => {
      embedded.push(...request.texts);
      return engine.embed(request, signal);
    },
    countTokens: (texts, signal) => engine.countTokens(texts, signal),
    check: (signal) => engine.check(signal),
    close: () => engine.close(),
  };
}

/** The catalogue with `engine` bound to the embedding model. */
export function embeddedBy(engine: EmbeddingEngine): TestApiOptions {
  return {
    models: (generation) =>
      bindCatalogue(generation).map((model) =>
        model.id === 'embed-large-en-v1.5' ? { ...model, embedding: engine } : model,
      ),
  };
}
