import type { Deps } from '../deps.ts';
import type { ServedModel } from '../engines/registry.ts';
import type { RerankEngine, Reranking, RerankRequest } from '../engines/rerank-engine.ts';
import { engineUnavailable, notFound } from '../errors.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { requireModel, UNBOUND_RETRY_SECONDS } from './admit.ts';
import { type MeteredDeps, metered } from './metered.ts';

/** The id that reranks where none is named. */
export const RERANK_MODEL = 'reranker-v2-m3';

/** A model that the caller may use to rerank. */
export interface AdmittedReranker {
  model: ServedModel;
  engine: RerankEngine;
}

/**
 * Admits a call that reranks; without an id, to `reranker-v2-m3`. Throws 404 `model_not_found`, also for a model that
 * does something else, 403 where the key is limited to other models, 503 where nothing serves it.
 */
export function admitRerank(
  deps: Pick<Deps, 'models'>,
  caller: Caller,
  modelId: string = RERANK_MODEL,
  param = 'model',
): AdmittedReranker {
  const model = deps.models.get(modelId);
  if (model === undefined) throw notFound('model', modelId, param);
  if (model.rerank === undefined && model.id !== RERANK_MODEL) throw notFound('model', modelId, param);
  requireModel(caller, model.id, param);
  if (model.rerank === undefined) {
    throw engineUnavailable(`Nothing serves '${model.id}' at present.`, UNBOUND_RETRY_SECONDS);
  }
  return { model, engine: model.rerank };
}

/**
 * Judges documents for a query: the one way to a rerank engine. The scores are in the order of the documents. Usage is
 * recorded exactly once, however it ends, and is durable when this resolves: the tokens read count as prompt tokens.
 */
export async function rerank(
  deps: MeteredDeps,
  call: Call,
  { model, engine }: AdmittedReranker,
  { query, documents, signal }: RerankRequest & { signal: AbortSignal },
): Promise<Reranking> {
  const work = { task: 'rerank', model, texts: documents.length } as const;
  const scope = call.caller.organizationId;
  return metered(deps, call, work, () => engine.rerank({ query, documents, scope }, signal));
}
