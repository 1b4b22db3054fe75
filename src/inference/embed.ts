import type { Deps } from '../deps.ts';
import type { EmbeddingEngine, EmbeddingRequest, Embeddings } from '../engines/embedding-engine.ts';
import type { ServedModel } from '../engines/registry.ts';
import { engineUnavailable, notFound } from '../errors.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { requireModel, UNBOUND_RETRY_SECONDS } from './admit.ts';
import { type MeteredDeps, metered } from './metered.ts';

/** The id that the interface names; every other that embeds is bound by the operator. */
export const EMBEDDING_MODEL = 'embed-large-en-v1.5';

/** A model that the caller may use to embed. */
export interface AdmittedEmbedder {
  model: ServedModel;
  engine: EmbeddingEngine;
}

/** What is embedded, and for whom it can be given up. */
export type EmbedInput = EmbeddingRequest & { signal: AbortSignal };

/**
 * Admits a call that embeds. Throws 404 `model_not_found`, also for a model that does something else, 403 where the key is
 * limited to other models, 503 where nothing serves it. `param` is the field that names the model.
 */
export function admitEmbedding(
  deps: Pick<Deps, 'models'>,
  caller: Caller,
  modelId: string,
  param = 'model',
): AdmittedEmbedder {
  const model = deps.models.get(modelId);
  if (model === undefined) throw notFound('model', modelId, param);
  if (model.embedding === undefined && model.id !== EMBEDDING_MODEL) throw notFound('model', modelId, param);
  requireModel(caller, model.id, param);
  if (model.embedding === undefined) {
    throw engineUnavailable(`Nothing serves '${model.id}' at present.`, UNBOUND_RETRY_SECONDS);
  }
  return { model, engine: model.embedding };
}

/**
 * Embeds texts: the one way to an embedding engine. The vectors are in the order of the texts: 1024 floats, L2-normalised.
 * Usage is recorded exactly once, however it ends, and is durable when this resolves: the tokens read count as prompt tokens.
 */
export async function embed(
  deps: MeteredDeps,
  call: Call,
  { model, engine }: AdmittedEmbedder,
  { signal, ...request }: EmbedInput,
): Promise<Embeddings> {
  const work = { task: 'embedding', model, texts: request.texts.length } as const;
  const scope = call.caller.organizationId;
  return metered(deps, call, work, () => engine.embed({ ...request, scope }, signal));
}
