import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { readGgufFacts } from '../engines/llama/gguf/gguf-facts.ts';
import { modelBackend } from '../engines/registry.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { type BindingOverride, findOverride } from '../models/bindings/resolve-binding.ts';
import { selectBindings } from '../models/bindings/store.ts';
import { modelKind } from '../models/catalogue.ts';
import { findModelFile, modelPath, removeModelFile } from '../models/downloads/model-files.ts';
import { viewModel } from '../models/find-model.ts';
import type { Model } from '../models/schema.ts';
import type { StateCommand, StateDeps } from './state-command.ts';

/** The name that removes a binding: the bundled model serves the id again. */
export const BUNDLED = 'bundled';

/** A model id with its stored binding and who chose its engine. */
export type ListedModel = Model & {
  stored_model: string | null;
  chosen_by: ReturnType<StateDeps['bindings']['chosenBy']>;
};

/** The outcome of `models use`. */
export interface UsedModel {
  id: string;
  /** Name of the model file; `bundled` when the binding was removed. */
  model: string;
  /** The setting that overrides the stored binding; null when the binding is in effect. */
  decided_by: BindingOverride | null;
  /** Engine and model that serve the id now; null when no service runs. */
  answered_by: string | null;
}

/** The model commands that read or change the database. */
export const MODEL_COMMANDS: Readonly<Record<'models list' | 'models use' | 'models remove', StateCommand>> = {
  'models list': async ({ models, bindings }): Promise<ListedModel[]> =>
    models.list().map((model) => ({
      ...viewModel(model),
      stored_model: bindings.stored.ids[model.id]?.model ?? null,
      chosen_by: bindings.chosenBy(model.id),
    })),
  'models use': (deps, input) => useModel(deps, input['id'] as string, input['model'] as string),
  'models remove': (deps, input) => removeModel(deps, input['name'] as string),
};

async function useModel(deps: StateDeps, id: string, model: string): Promise<UsedModel> {
  const { config, bindings, models } = deps;
  if (model !== BUNDLED) await requireModelOfKind(config, id, model);
  await bindings.rebind({ [id]: model === BUNDLED ? null : { model, by: 'operator' } });
  const served = deps.isService ? models.get(id) : undefined;
  const backend = served === undefined ? null : modelBackend(served);
  return {
    id,
    model,
    decided_by: findOverride(config, id),
    answered_by: backend === null ? null : `${backend.engine} ${backend.model}`.trim(),
  };
}

/** Throws an `OperatorError` when the model is missing, cannot be loaded, or is of another kind than the id. */
async function requireModelOfKind({ dataDir }: Config, id: string, name: string): Promise<void> {
  const stored = await findModelFile(dataDir, name);
  if (stored === null) {
    throw new OperatorError(`There is no model '${name}' on the disk; 'quire models pull ${name}' fetches it.`);
  }
  const { use } = await readGgufFacts(stored.path).catch((error: unknown) => {
    throw new OperatorError(`The model '${name}' cannot be used: ${describeError(error)}.`);
  });
  const kind = modelKind(id);
  if (use !== kind) throw new OperatorError(`'${name}' is a model for ${use}, and '${id}' is for ${kind}.`);
}

async function removeModel({ config, db }: StateDeps, name: string): Promise<{ name: string; freed_bytes: number }> {
  const { dataDir } = config;
  const { ids } = await selectBindings(db.sql);
  const stored = Object.entries(ids).filter(([, { model }]) => model === name);
  const configured = Object.entries(config.models).filter(
    ([, { file }]) => file !== undefined && resolve(file) === modelPath(dataDir, name),
  );
  const users = [...stored, ...configured].map(([id]) => id);
  if (users.length > 0) {
    throw new OperatorError(
      `'${name}' is bound to ${users.join(', ')}. Bind them to another model first, or remove the binding: quire models use ${users[0]}=${BUNDLED}`,
    );
  }
  return { name, freed_bytes: await removeModelFile(dataDir, name) };
}
