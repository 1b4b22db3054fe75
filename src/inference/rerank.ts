import type { RerankEngineRequest, Reranking } from '../engines/rerank-engine.ts';
import type { Admission } from './admission.ts';
import { rerankBounds } from './cost-bounds.ts';
import type { MeteringDeps } from './model-call.ts';
import type { Screened } from './screening.ts';

/** A query with its documents: the scope comes from the call. */
export type RerankInput = Omit<RerankEngineRequest, 'scope'>;

/**
 * Scores documents for a query, in the order of the documents. Usage is recorded once, however the call ends, and is
 * durable when this settles; the tokens read are recorded as prompt tokens.
 */
export async function rerank(
  deps: MeteringDeps,
  admission: Admission<'rerank'>,
  input: Screened<RerankInput>,
  signal: AbortSignal,
): Promise<Reranking> {
  const scope = admission.call.caller.organizationId;
  const size = {
    inputs: input.value.documents.length,
    bounds: () => rerankBounds(input.value.query, input.value.documents),
  };
  const modelCall = await admission.begin(deps, input, size);
  return modelCall.run((engine) => engine.rerank({ ...input.value, scope }, signal));
}
