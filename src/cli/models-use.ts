import { loadConfig } from '../config.ts';
import { isModelName } from '../models/downloads/model-source.ts';
import type { CommandSpec } from './command-spec.ts';
import type { UsedModel } from './model-commands.ts';
import { JSON_OPTION, megabytes, print } from './output.ts';
import { withState } from './with-state.ts';
import { WrongCall } from './wrong-call.ts';

/** Model ids that the configuration file accepts. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** `quire models use`. */
export const modelsUse: CommandSpec = {
  summary:
    'Bind a model id to a model on the disk; ID=bundled removes the binding. A running service loads and checks the model first; when that fails, nothing changes.',
  words: ['id=name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [, id = '', model = ''] = /^([^=]+)=(.+)$/.exec(input.words[0] ?? '') ?? [];
    if (!ID.test(id) || !isModelName(model)) throw new WrongCall('Write a model id, = and the name of a model.');
    const used = (await withState(loadConfig(), 'models use', { id, model })) as UsedModel;
    print(input, used, () => outcome(used));
  },
};

function outcome({ id, model, decided_by, answered_by }: UsedModel): string {
  if (decided_by !== null) {
    const setting = decided_by === 'environment' ? 'QUIRE_UPSTREAM_URL' : `'models.${id}' of the configuration file`;
    return `Stored, but ${setting} overrides it: '${model}' serves '${id}' once that setting is removed.`;
  }
  if (answered_by === null) return `'${model}' serves '${id}' when the service starts.`;
  return `${answered_by || 'Nothing'} serves '${id}' now.`;
}

/** `quire models remove`. */
export const modelsRemove: CommandSpec = {
  summary: 'Delete a model or a partial download from the disk. Fails while a model id is bound to it.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [name = ''] = input.words;
    if (!isModelName(name)) throw new WrongCall(`'${name}' cannot be the name of a model.`);
    const removed = (await withState(loadConfig(), 'models remove', { name })) as { freed_bytes: number };
    print(input, removed, () => `${name} deleted, ${megabytes(removed.freed_bytes)} freed.`);
  },
};
