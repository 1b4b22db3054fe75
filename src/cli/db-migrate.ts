import { loadConfig } from '../config.ts';
import type { CommandSpec } from './command-spec.ts';
import { JSON_OPTION, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** `quire db migrate`. */
export const migrateCommand: CommandSpec = {
  summary: 'Apply pending database migrations. Every start does this too. Safe while other processes run.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    // Opening the database migrates it; a running service has migrated it at its start.
    await runStateCommand(loadConfig(), 'orgs list', {});
    printResult(input, { migrated: true }, () => 'The database schema is up to date.');
  },
};
