import { setTimeout as pause } from 'node:timers/promises';
import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import { modelRuntime } from '../../engines/registry.ts';
import { invalidValue, notFound } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { freeBytes } from '../../lib/writable-folder.ts';
import { bindOffered, defaultRetrievalIds } from '../bindings/bind-generation.ts';
import {
  DOWNLOADABLE_MODELS,
  estimateMemory,
  suggestModel,
  suggestRetrievalModels,
} from '../downloads/downloadable-models.ts';
import { listModelFiles } from '../downloads/model-files.ts';
import type { ModelPulls } from '../downloads/model-pulls.ts';
import type { ModelPull } from '../downloads/pull-store.ts';
import { findModel } from '../find-model.ts';
import type { ModelAdminDeps } from './admin-deps.ts';
import type { LoadedModel, ModelFiles, ModelPullStatus, PullModel } from './schema.ts';

/** Interval of the checks whether the other models of a set are complete. */
const COMPLETION_POLL_MS = 200;

/** Models on the disk, partial downloads, and models that can be pulled by name. */
export async function listStoredModels({
  config,
  bindings,
}: Pick<ModelAdminDeps, 'config' | 'bindings'>): Promise<ModelFiles> {
  const { models, unfinished } = await listModelFiles(config.dataDir);
  return {
    object: 'list',
    data: models.map(({ name, bytes, card }) => ({
      name,
      bytes,
      from: card?.from ?? null,
      use: card?.use ?? null,
      architecture: card?.architecture ?? null,
      parameters: card?.parameters ?? null,
      context_length: card?.context_tokens ?? null,
      license: findLicence(name),
    })),
    unfinished,
    available: DOWNLOADABLE_MODELS.map((model) => ({
      name: model.name,
      approximate_bytes: model.approximateBytes,
      memory_bytes: estimateMemory(model),
      parameters: Math.round(model.billions * 1e9),
      context_length: model.contextTokens,
      license: model.licence,
      suits: [...model.suits],
      note: model.note,
    })),
    machine: {
      memory_bytes: config.memory.limit.bytes,
      free_memory_bytes: process.availableMemory(),
      free_disk_bytes: await freeBytes(config.dataDir),
    },
    suggested: bindings.defaultGenerationIds().length === 0 ? null : suggestModel(),
    suggested_for_retrieval: suggestRetrievalModels(defaultRetrievalIds(bindings)),
  };
}

const findLicence = (name: string): string | null =>
  DOWNLOADABLE_MODELS.find((model) => model.name === name)?.licence ?? null;

/** Starts a pull, and the pulls of its set. Throws 400 for an unknown source, a URL, and a set that is not bound. */
export async function startPull(
  { db, bindings }: Pick<ModelAdminDeps, 'db' | 'bindings'>,
  pulls: ModelPulls,
  { call, body: { source, bind = false, with: others = [] } }: { call: Call; body: PullModel },
): Promise<ModelPullStatus> {
  if (others.length > 0 && !bind) throw invalidValue('with', "requires 'bind'");
  if (others.includes(source)) throw invalidValue('with', "must not contain 'source'");
  const begun: Readonly<ModelPull>[] = [];
  for (const [i, other] of others.entries())
    begun.push(await beginPull({ db }, pulls, { call, source: other, param: `with.${i}` }));
  const onComplete = async (name: string, signal: AbortSignal) => {
    for (const pull of begun) await requireCompleted(pull, signal);
    await bindOffered(bindings, [name, ...others]);
  };
  return viewPull(await beginPull({ db }, pulls, { call, source, ...(bind && { onComplete }) }));
}

/** Waits for a pull. Throws an `OperatorError` when it ends without the model. */
async function requireCompleted(pull: Readonly<ModelPull>, signal: AbortSignal): Promise<void> {
  while (pull.endedAt === null) await pause(COMPLETION_POLL_MS, undefined, { signal });
  if (pull.state === 'completed') return;
  throw new OperatorError(`'${pull.name}' was not pulled, so nothing was bound: ${pull.detail ?? pull.state}`);
}

/** A pull to start. */
export interface PullStart {
  call: Call;
  source: string;
  /** Field of the request that names the source, for errors. */
  param?: string;
  /** Binds the complete model. Its error is that of the pull. */
  onComplete?(name: string, signal: AbortSignal): Promise<void>;
}

/** Starts a pull and returns its state, which changes until the pull has ended. Throws as `startPull` does. */
export async function beginPull(
  { db }: Pick<ModelAdminDeps, 'db'>,
  pulls: ModelPulls,
  { call, source, param = 'source', onComplete }: PullStart,
): Promise<Readonly<ModelPull>> {
  const pull = await pulls.start(source, onComplete).catch((error: unknown) => {
    if (!(error instanceof OperatorError)) throw error;
    throw invalidValue(param, `is not accepted: ${error.message.replace(/\.$/, '')}`);
  });
  await recordChange(db.sql, toActor(call), {
    action: 'model_pull.started',
    organizationId: '',
    resourceId: pull.name,
    changes: changedValues({}, { from: pull.from, ...(onComplete && { bind: true }) }),
  });
  return pull;
}

/** Cancels a pull. Throws 404 `model_pull_not_found` when none of that name runs. */
export async function cancelPull(pulls: ModelPulls, name: string): Promise<ModelPullStatus> {
  const pull = await pulls.cancel(name);
  if (pull === null) throw notFound('model_pull', name, 'name');
  return viewPull(pull);
}

/** A pull as the wire shows it. */
export function viewPull(pull: ModelPull): ModelPullStatus {
  return {
    object: 'model_pull',
    name: pull.name,
    location: pull.location,
    from: pull.from,
    state: pull.state,
    received_bytes: pull.receivedBytes,
    total_bytes: pull.totalBytes,
    detail: pull.detail,
    created_at: toUnixSeconds(pull.startedAt),
    ended_at: pull.endedAt === null ? null : toUnixSeconds(pull.endedAt),
  };
}

/**
 * Loads or unloads the model of an id in this process; other ids may share it. Throws 404, and 400 for an engine that
 * cannot be unloaded or runs requests.
 */
export async function setLoaded(
  deps: Pick<ModelAdminDeps, 'models' | 'db'>,
  call: Call,
  { id, isLoaded, param = 'model_id' }: { id: string; isLoaded: boolean; param?: 'model' | 'model_id' },
): Promise<LoadedModel> {
  const runtime = modelRuntime(findModel(deps, id, param));
  if (runtime?.unloadModel === undefined || runtime.loadModel === undefined) {
    throw invalidValue(param, 'is served by an engine that is always loaded');
  }
  if (isLoaded) runtime.loadModel();
  else if (!(await runtime.unloadModel())) throw invalidValue(param, 'has requests in progress');
  await recordChange(deps.db.sql, toActor(call), {
    action: isLoaded ? 'model.loaded' : 'model.unloaded',
    organizationId: '',
    resourceId: id,
  });
  return { id, object: 'model', loaded: isLoaded };
}
