/**
 * Calls whose result comes in one piece. Their usage is recorded once, however the call ends, and is durable when the
 * call settles; the tokens read are recorded as prompt tokens. The scope of a call is its organization.
 */
import type { EmbeddingRequest, Embeddings } from '../engines/embedding-engine.ts';
import { maxPrefixBytes } from '../engines/embedding-prefixes.ts';
import type { ModerationScores } from '../engines/moderation-engine.ts';
import type { RerankEngineRequest, Reranking } from '../engines/rerank-engine.ts';
import type { Admission } from './admission.ts';
import { rerankBounds, textBounds } from './cost-bounds.ts';
import type { MeteringDeps } from './model-call.ts';
import type { Screened } from './screening.ts';

/** Texts to embed. */
export type EmbeddingInput = Omit<EmbeddingRequest, 'scope'>;

/** A query with its documents. */
export type RerankInput = Omit<RerankEngineRequest, 'scope'>;

/** Embeds texts. Returns vectors in the order of the texts: 1024 floats each, L2-normalised. */
export async function embed(
  deps: MeteringDeps,
  admission: Admission<'embedding'>,
  input: Screened<EmbeddingInput>,
  signal: AbortSignal,
): Promise<Embeddings> {
  const { texts, purpose } = input.value;
  const size = { inputs: texts.length, bounds: () => textBounds(texts, maxPrefixBytes(purpose)) };
  const modelCall = await admission.begin(deps, input, size);
  const scope = admission.call.caller.organizationId;
  return modelCall.run((engine) => engine.embed({ ...input.value, scope }, signal));
}

/** Scores documents for a query, in the order of the documents. */
export async function rerank(
  deps: MeteringDeps,
  admission: Admission<'rerank'>,
  input: Screened<RerankInput>,
  signal: AbortSignal,
): Promise<Reranking> {
  const { query, documents } = input.value;
  const size = { inputs: documents.length, bounds: () => rerankBounds(query, documents) };
  const modelCall = await admission.begin(deps, input, size);
  const scope = admission.call.caller.organizationId;
  return modelCall.run((engine) => engine.rerank({ ...input.value, scope }, signal));
}

/** Scores texts for harm, in the order of the texts. */
export async function moderate(
  deps: MeteringDeps,
  admission: Admission<'moderation'>,
  input: Screened<readonly string[]>,
  signal: AbortSignal,
): Promise<ModerationScores[]> {
  const size = { inputs: input.value.length, bounds: () => textBounds(input.value) };
  const modelCall = await admission.begin(deps, input, size);
  const scope = admission.call.caller.organizationId;
  return (await modelCall.run((engine) => engine.moderate(input.value, signal, scope))).scores;
}
