import type { EmbeddingRequest, Embeddings } from '../engines/embedding-engine.ts';
import { maxPrefixBytes } from '../engines/embedding-prefixes.ts';
import type { Admission } from './admission.ts';
import { textBounds } from './cost-bounds.ts';
import type { MeteringDeps } from './model-call.ts';
import type { Screened } from './screening.ts';

/** Texts to embed: the scope comes from the call. */
export type EmbeddingInput = Omit<EmbeddingRequest, 'scope'>;

/**
 * Embeds texts. Returns vectors in the order of the texts: 1024 floats each, L2-normalised. Usage is recorded once,
 * however the call ends, and is durable when this settles; the tokens read are recorded as prompt tokens.
 */
export async function embed(
  deps: MeteringDeps,
  admission: Admission<'embedding'>,
  input: Screened<EmbeddingInput>,
  signal: AbortSignal,
): Promise<Embeddings> {
  const scope = admission.call.caller.organizationId;
  const { texts, purpose } = input.value;
  const size = { inputs: texts.length, bounds: () => textBounds(texts, maxPrefixBytes(purpose)) };
  const modelCall = await admission.begin(deps, input, size);
  return modelCall.run((engine) => engine.embed({ ...input.value, scope }, signal));
}
