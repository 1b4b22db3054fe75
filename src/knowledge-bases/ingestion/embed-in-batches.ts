import type { Deps } from '../../deps.ts';
import type { EmbeddingPurpose } from '../../engines/embedding-engine.ts';
import { type AdmittedEmbedder, embed } from '../../inference/embed.ts';
import type { Call } from '../../lib/caller.ts';
import { patiently } from './patiently.ts';

/** Who embeds, and for whom. */
export interface EmbedContext {
  deps: Pick<Deps, 'recordUsage' | 'metrics' | 'now'>;
  call: Call;
  embedder: AdmittedEmbedder;
}

/** Texts that are embedded in one call: the engine shares its steps between calls, so more would not be faster. */
const EMBED_BATCH = 64;

/** The vectors of the texts, in their order, however many they are. */
export async function embedInBatches(
  { deps, call, embedder }: EmbedContext,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { engine } = embedder;
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += EMBED_BATCH) {
    const batch = texts.slice(from, from + EMBED_BATCH);
    const request = { texts: batch, purpose, maxTokensPerText: null, paramOf: () => 'input', signal };
    const embedded = await patiently(() => embed(deps, call, embedder, request), { engine, signal });
    vectors.push(...embedded.vectors);
  }
  return vectors;
}
