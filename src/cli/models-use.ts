import { loadConfig } from '../config.ts';
import { isModelName } from '../models/downloads/model-source.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import type { UsedModel } from './model-commands.ts';
import { formatMegabytes, JSON_OPTION, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

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
    const used = (await runStateCommand(loadConfig(), 'models use', { id, model })) as UsedModel;
    printResult(input, used, () => outcome(used));
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
export const modelsRemoveCommand: CommandSpec = {
  summary: 'Delete a model or a partial download from the disk. Fails while a model id is bound to it.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [name = ''] = input.words;
    if (!isModelName(name)) throw new UsageError(`'${name}' cannot be the name of a model.`);
    const removed = (await runStateCommand(loadConfig(), 'models remove', { name })) as { freed_bytes: number };
    printResult(input, removed, () => `${name} deleted, ${formatMegabytes(removed.freed_bytes)} freed.`);
  },
};
