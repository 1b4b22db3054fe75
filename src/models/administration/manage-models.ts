import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import { readGgufFacts } from '../../engines/llama/gguf/gguf-facts.ts';
import { modelBackend } from '../../engines/registry.ts';
import { invalidValue, notFound } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import type { RebindOptions } from '../bindings/model-bindings.ts';
import { selectBindings } from '../bindings/store.ts';
import { modelKind } from '../catalogue.ts';
import { findModelFile, modelPath, partialPath } from '../downloads/model-files.ts';
import { modelsLocation } from '../downloads/model-pulls.ts';
import { isModelName } from '../downloads/model-source.ts';
import { deletePulls, selectPulls } from '../downloads/pull-store.ts';
import { removeModelFile } from '../downloads/remove-model-file.ts';
import { viewModel } from '../find-model.ts';
import type { ModelAdminDeps } from './admin-deps.ts';
import type { BoundModel, DeletedModelFile, ModelBindingResult } from './schema.ts';
import { viewBinding } from './view-binding.ts';

/** The name that removes a binding: the bundled model serves the id again. */
const BUNDLED = 'bundled';
/** Model ids that the configuration file accepts. */
export const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

type ModelDeps = Pick<ModelAdminDeps, 'config' | 'db' | 'models' | 'bindings'>;

/** All model ids on one page, in the order of `GET /v1/models`. */
export function listBoundModels({ models, bindings }: ModelDeps) {
  const data = models.list().map(
    (model): BoundModel => ({
      ...viewModel(model),
      stored_model: bindings.stored.ids[model.id]?.model ?? null,
      upstream_binding: viewBinding(bindings.stored.upstreams.models.find(({ modelId }) => modelId === model.id)),
      chosen_by: bindings.chosenBy(model.id),
    }),
  );
  const [first] = data;
  return {
    object: 'list' as const,
    data,
    has_more: false,
    first_id: first?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

/**
 * Binds a model id to a model on the disk, after a running service has loaded it; `bundled` removes the binding. Throws
 * 404 `model_file_not_found`, and 400 when the model cannot be loaded, is of another kind, or was pulled by another
 * process; nothing changes then.
 */
export async function bindModel(deps: ModelDeps, call: Call, id: string, model: string): Promise<ModelBindingResult> {
  const { bindings, models } = deps;
  if (!MODEL_ID.test(id)) throw invalidValue('model_id', 'cannot be a model id');
  if (model !== BUNDLED) await requireModelOfKind(deps, id, model);
  const binding = model === BUNDLED ? null : ({ model, by: 'operator' } as const);
  const record: RebindOptions['record'] = (sql, before) =>
    recordChange(sql, toActor(call), {
      action: 'model_binding.updated',
      organizationId: '',
      resourceId: id,
      changes: changedValues({ model: before[id]?.model ?? BUNDLED }, { model }),
    });
  await asInvalid('model', () => bindings.rebind({ [id]: binding }, { record }));
  const served = models.get(id);
  const backend = served === undefined ? null : modelBackend(served);
  return {
    id,
    object: 'model_binding',
    model,
    decided_by: decidedBy(bindings.chosenBy(id)),
    answered_by: backend === null ? null : `${backend.engine} ${backend.model}`.trim(),
  };
}

/** What overrides a binding to a model file; null: nothing. */
function decidedBy(chosenBy: BoundModel['chosen_by']): ModelBindingResult['decided_by'] {
  return chosenBy === 'configuration' || chosenBy === 'upstream' || chosenBy === 'environment' ? chosenBy : null;
}

async function requireModelOfKind(
  { config: { dataDir }, db, bindings }: Pick<ModelDeps, 'config' | 'db' | 'bindings'>,
  id: string,
  name: string,
): Promise<void> {
  // The name becomes part of a path.
  const stored = isModelName(name) ? await findModelFile(dataDir, name) : null;
  if (stored === null) {
    await asInvalid('model', () => bindings.fetchFile(name));
    const elsewhere = (await selectPulls(db.sql)).findLast((pull) => pull.name === name && pull.state === 'completed');
    if (elsewhere !== undefined && elsewhere.location !== modelsLocation({ dataDir })) {
      throw invalidValue(
        'model',
        `is '${name}', which only ${elsewhere.location} has: bind it there, or pull it here, too`,
      );
    }
    throw notFound('model_file', name, 'model');
  }
  const { use } = await readGgufFacts(stored.path).catch((error: unknown) => {
    throw invalidValue('model', `is '${name}', which cannot be used: ${describeError(error)}`);
  });
  const kind = modelKind(id);
  if (use !== kind) throw invalidValue('model', `is '${name}', a model for ${use}, and '${id}' is for ${kind}`);
}

/**
 * Deletes a model or a partial download from the disk. Throws 404 `model_file_not_found`, and 400 while a model id is
 * bound to it or it is being downloaded.
 */
export async function deleteModelFile(
  { config, db }: Pick<Deps, 'config' | 'db'>,
  call: Call,
  name: string,
): Promise<DeletedModelFile> {
  const { dataDir } = config;
  const exists =
    isModelName(name) && ((await findModelFile(dataDir, name)) !== null || existsSync(partialPath(dataDir, name)));
  if (!exists) throw notFound('model_file', name, 'name');
  const { ids } = await selectBindings(db.sql);
  const stored = Object.entries(ids).filter(([, { model }]) => model === name);
  const configured = Object.entries(config.models).filter(
    ([, { file }]) => file !== undefined && resolve(file) === modelPath(dataDir, name),
  );
  const users = [...stored, ...configured].map(([id]) => id);
  if (users.length > 0) {
    const remedy = `bind them to another model first, or remove the binding: quire models use ${users[0]}=${BUNDLED}`;
    throw invalidValue('name', `is bound to ${users.join(', ')}; ${remedy}`);
  }
  const freedBytes = await asInvalid('name', () => removeModelFile(dataDir, name));
  await deletePulls(db.sql, modelsLocation({ dataDir }), name);
  await recordChange(db.sql, toActor(call), {
    action: 'model_file.deleted',
    organizationId: '',
    resourceId: name,
    changes: changedValues({ bytes: freedBytes }, { bytes: 0 }),
  });
  return { name, object: 'model_file', deleted: true, freed_bytes: freedBytes };
}

/** An operator's mistake is a caller's mistake here. */
export async function asInvalid<T>(param: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw invalidValue(param, `is not accepted: ${error.message.replace(/\.$/, '')}`);
  }
}
