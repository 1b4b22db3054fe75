import { loadConfig } from '../config.ts';
import type { CommandSpec } from './command-spec.ts';
import { JSON_OPTION, print } from './output.ts';
import { withState } from './with-state.ts';

/** `quire db migrate`. */
export const migrate: CommandSpec = {
  summary: 'Bring the database to this version. Every start does it too; safe beside other processes.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    // Opening the state migrates; a running service has done it when it started.
    await withState(loadConfig(), 'orgs list', {});
    print(input, { migrated: true }, () => 'The database is at this version.');
  },
};
