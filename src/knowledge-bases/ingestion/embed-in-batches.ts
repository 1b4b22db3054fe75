import type { Deps } from '../../deps.ts';
import type { EmbeddingPurpose } from '../../engines/embedding-engine.ts';
import type { Admission } from '../../inference/admission.ts';
import { embed } from '../../inference/embed.ts';
import { exemptInput } from '../../inference/screening.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/** Dependencies and admitted model of embedding calls. */
export interface EmbedContext {
  deps: Pick<Deps, 'reserve' | 'recordUsage' | 'metrics' | 'now'>;
  embedder: Admission<'embedding'>;
}

/** Texts per embedding call. The engine batches concurrent calls, so larger batches are not faster. */
const BATCH_TEXTS = 64;

/** Embeds any number of texts, with retries. Returns the vectors in order. */
export async function embedInBatches(
  { deps, embedder }: EmbedContext,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { engine } = embedder;
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += BATCH_TEXTS) {
    const batch = texts.slice(from, from + BATCH_TEXTS);
    const input = exemptInput({ texts: batch, purpose, maxTokensPerText: null, paramOf: () => 'input' });
    const embedded = await retryWhileUnavailable(() => embed(deps, embedder, input, signal), { engine, signal });
    vectors.push(...embedded.vectors);
  }
  return vectors;
}
