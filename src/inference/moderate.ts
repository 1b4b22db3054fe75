import type { Deps } from '../deps.ts';
import type { ModerationEngine, ModerationScores } from '../engines/moderation-engine.ts';
import type { ServedModel } from '../engines/registry.ts';
import { engineUnavailable, notFound } from '../errors.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { requireModel, UNBOUND_RETRY_SECONDS } from './admit.ts';
import { type MeteredDeps, metered } from './metered.ts';

/** The id that judges where none is named, and the newer name that OpenAI's clients know it by. */
export const MODERATION_MODEL = 'moderation-v1';
const OTHER_NAME = 'omni-moderation-latest';

/** A model that the caller may use to judge texts. */
export interface AdmittedModeration {
  model: ServedModel;
  engine: ModerationEngine;
}

/**
 * Admits a call that judges texts; without an id, to `moderation-v1`. Throws 404 `model_not_found`, also for a model that
 * does something else, 403 where the key is limited to other models, 503 where nothing serves it.
 */
export function admitModeration(
  deps: Pick<Deps, 'models'>,
  caller: Caller,
  modelId: string = MODERATION_MODEL,
): AdmittedModeration {
  const named = deps.models.get(modelId);
  const model = named === undefined && modelId === OTHER_NAME ? deps.models.get(MODERATION_MODEL) : named;
  if (model === undefined) throw notFound('model', modelId, 'model');
  if (model.moderation === undefined && model.id !== MODERATION_MODEL) throw notFound('model', modelId, 'model');
  requireModel(caller, model.id);
  if (model.moderation === undefined) {
    throw engineUnavailable(`Nothing serves '${model.id}' at present.`, UNBOUND_RETRY_SECONDS);
  }
  return { model, engine: model.moderation };
}

/**
 * Judges texts: the one way to a moderation engine. The scores are in the order of the texts. Usage is recorded exactly
 * once, however it ends, and is durable when this resolves: the tokens read count as prompt tokens.
 */
export async function moderate(
  deps: MeteredDeps,
  call: Call,
  { model, engine }: AdmittedModeration,
  { texts, signal }: { texts: readonly string[]; signal: AbortSignal },
): Promise<ModerationScores[]> {
  const work = { task: 'moderation', model, texts: texts.length } as const;
  const { scores } = await metered(deps, call, work, () => engine.moderate(texts, signal, call.caller.organizationId));
  return scores;
}
