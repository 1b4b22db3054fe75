import type { Deps } from '../../deps.ts';
import type { EmbeddingPurpose } from '../../engines/embedding-engine.ts';
import type { Admission } from '../../inference/admission.ts';
import { embed } from '../../inference/embed.ts';
import { exemptInput } from '../../inference/screening.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/** Who embeds, and for whom. */
export interface EmbedContext {
  deps: Pick<Deps, 'recordUsage' | 'metrics' | 'now'>;
  embedder: Admission<'embedding'>;
}

/** Texts that are embedded in one call: the engine shares its steps between calls, so more would not be faster. */
const EMBED_BATCH = 64;

/** The vectors of the texts, in their order, however many they are. */
export async function embedInBatches(
  { deps, embedder }: EmbedContext,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { engine } = embedder;
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += EMBED_BATCH) {
    const batch = texts.slice(from, from + EMBED_BATCH);
    const input = exemptInput({ texts: batch, purpose, maxTokensPerText: null, paramOf: () => 'input' });
    const embedded = await retryWhileUnavailable(() => embed(deps, embedder, input, signal), { engine, signal });
    vectors.push(...embedded.vectors);
  }
  return vectors;
}
