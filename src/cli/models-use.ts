import { InvalidArgumentError } from 'commander';
import { OperatorError } from '../lib/operator-error.ts';
import type { DeletedModelFile, ModelBindingResult } from '../models/administration/schema.ts';
import { isModelName } from '../models/downloads/model-source.ts';
import { AdminApiError, withAdminApi } from './admin-client.ts';
import { formatMegabytes, printResult } from './output.ts';

/** Model ids that the configuration file accepts. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** Parses the argument of `quire models use`, `ID=NAME`. Throws an `InvalidArgumentError`. */
export function parseBinding(text: string): { id: string; model: string } {
  const [, id = '', model = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (ID.test(id) && isModelName(model)) return { id, model };
  throw new InvalidArgumentError('Expected ID=NAME: a model id and the name of a model.');
}

/** Parses the name of a model file. Throws an `InvalidArgumentError`. */
export function parseModelName(name: string): string {
  if (isModelName(name)) return name;
  throw new InvalidArgumentError(`'${name}' cannot be the name of a model.`);
}

/** `quire models use`. */
export async function useModel({ id, model }: ReturnType<typeof parseBinding>, options: { json?: boolean }) {
  const path = `/v1/admin/models/${encodeURIComponent(id)}/binding`;
  const { object: _, ...used } = await withAdminApi((api) =>
    api.send<ModelBindingResult>({ method: 'PUT', path, body: { model } }).catch((error: unknown) => {
      if (!isMissingFile(error)) throw error;
      throw new OperatorError(`There is no model '${model}' on the disk; 'quire models pull ${model}' fetches it.`);
    }),
  );
  printResult(options, used, () => outcome(used));
}

function outcome({ id, model, decided_by, answered_by }: Omit<ModelBindingResult, 'object'>): string {
  if (decided_by !== null) {
    const setting = decided_by === 'environment' ? 'QUIRE_UPSTREAM_URL' : `'models.${id}' of the configuration file`;
    return `Stored, but ${setting} overrides it: '${model}' serves '${id}' once that setting is removed.`;
  }
  if (answered_by === null) return `'${model}' serves '${id}' when the service starts.`;
  return `${answered_by || 'Nothing'} serves '${id}' now.`;
}

/** `quire models remove`. */
export async function removeModel(name: string, options: { json?: boolean }) {
  const path = `/v1/admin/model-files/${encodeURIComponent(name)}`;
  const { freed_bytes } = await withAdminApi((api) =>
    api.send<DeletedModelFile>({ method: 'DELETE', path }).catch((error: unknown) => {
      if (!isMissingFile(error)) throw error;
      throw new OperatorError(`There is no model '${name}' on the disk. 'quire models list' shows the stored models.`);
    }),
  );
  printResult(options, { name, freed_bytes }, () => `${name} deleted, ${formatMegabytes(freed_bytes)} freed.`);
}

function isMissingFile(error: unknown): boolean {
  return error instanceof AdminApiError && error.code === 'model_file_not_found';
}
