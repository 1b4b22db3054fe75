import { loadConfig } from '../config.ts';
import type { Model } from '../models/schema.ts';
import type { CommandSpec } from './commands.ts';
import { JSON_OPTION, print, table } from './output.ts';
import { withState } from './with-state.ts';

/** `quire models list`. */
export const modelsList: CommandSpec = {
  summary: 'List the model ids and what answers for each.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const models = (await withState(loadConfig(), 'models list', {})) as Model[];
    const rows = models.map(({ id, context_length, backend }) => [
      id,
      backend.model === '' ? 'nothing yet' : `${backend.engine} ${backend.model}`,
      String(context_length),
      backend.ready ? 'ready' : 'not ready',
    ]);
    print(input, models, () => table([['MODEL', 'ANSWERED BY', 'CONTEXT', 'STATE'], ...rows]));
  },
};
