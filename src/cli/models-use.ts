import { loadConfig } from '../config.ts';
import { isModelName } from '../models/downloads/model-source.ts';
import type { CommandSpec } from './command-spec.ts';
import type { UsedModel } from './model-commands.ts';
import { JSON_OPTION, megabytes, print } from './output.ts';
import { withState } from './with-state.ts';
import { WrongCall } from './wrong-call.ts';

/** A model id as the configuration file allows it. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** `quire models use`. */
export const modelsUse: CommandSpec = {
  summary:
    'Let a model of the disk answer for a model id, at once where a service runs; ID=bundled takes that back. The model is loaded and checked first: when that fails, everything stays as it was.',
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
    return `Kept, but ${setting} decides for '${id}' and wins: '${model}' answers once that is taken out.`;
  }
  if (answered_by === null) return `'${id}' is answered by '${model}' when the service starts.`;
  return `'${id}' is answered by ${answered_by || 'nothing'} from now on.`;
}

/** `quire models remove`. */
export const modelsRemove: CommandSpec = {
  summary: 'Delete a model from the disk, or what came of one. Refused while a model id is bound to it.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [name = ''] = input.words;
    if (!isModelName(name)) throw new WrongCall(`'${name}' cannot be the name of a model.`);
    const removed = (await withState(loadConfig(), 'models remove', { name })) as { freed_bytes: number };
    print(input, removed, () => `${name} is deleted: ${megabytes(removed.freed_bytes)} are free again.`);
  },
};
