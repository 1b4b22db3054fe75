import type { DeletedModelFile, ModelBindingResult } from '../admin/models/schema.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { isModelName } from '../models/downloads/model-source.ts';
import { AdminApiError, withAdminApi } from './admin-client.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatMegabytes, JSON_OPTION, printResult } from './output.ts';

/** Model ids that the configuration file accepts. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** `quire models use`. */
export const modelsUseCommand: CommandSpec = {
  summary:
    'Bind a model id to a model on the disk; ID=bundled removes the binding. A running service loads and checks the model first; when that fails, nothing changes.',
  words: ['id=name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [, id = '', model = ''] = /^([^=]+)=(.+)$/.exec(input.words[0] ?? '') ?? [];
    if (!ID.test(id) || !isModelName(model))
      throw new UsageError('Expected ID=NAME: a model id and the name of a model.');
    const path = `/v1/admin/models/${encodeURIComponent(id)}/binding`;
    const { object: _, ...used } = await withAdminApi((api) =>
      api.send<ModelBindingResult>({ method: 'PUT', path, body: { model } }).catch((error: unknown) => {
        if (!isMissingFile(error)) throw error;
        throw new OperatorError(`There is no model '${model}' on the disk; 'quire models pull ${model}' fetches it.`);
      }),
    );
    printResult(input, used, () => outcome(used));
  },
};

function outcome({ id, model, decided_by, answered_by }: Omit<ModelBindingResult, 'object'>): string {
  if (decided_by !== null) {
    const setting = decided_by === 'environment' ? 'QUIRE_UPSTREAM_URL' : `'models.${id}' of the configuration file`;
    return `Stored, but ${setting} overrides it: '${model}' serves '${id}' once that setting is removed.`;
  }
  if (answered_by === null) return `'${model}' serves '${id}' when the service starts.`;
  return `${answered_by || 'Nothing'} serves '${id}' now.`;
}

/** `quire models remove`. */
export const modelsRemoveCommand: CommandSpec = {
  summary: 'Delete a model or a partial download from the disk. Fails while a model id is bound to it.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [name = ''] = input.words;
    if (!isModelName(name)) throw new UsageError(`'${name}' cannot be the name of a model.`);
    const path = `/v1/admin/model-files/${encodeURIComponent(name)}`;
    const { freed_bytes } = await withAdminApi((api) =>
      api.send<DeletedModelFile>({ method: 'DELETE', path }).catch((error: unknown) => {
        if (!isMissingFile(error)) throw error;
        throw new OperatorError(`There is no model '${name}' on the disk. 'quire models list' shows those there are.`);
      }),
    );
    const removed = { name, freed_bytes };
    printResult(input, removed, () => `${name} deleted, ${formatMegabytes(removed.freed_bytes)} freed.`);
  },
};

function isMissingFile(error: unknown): boolean {
  return error instanceof AdminApiError && error.code === 'model_file_not_found';
}
