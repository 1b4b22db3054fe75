import { CliCommand } from './command.ts';
import { printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** `quire db`. */
export function dbCommand(): CliCommand {
  const db = new CliCommand('db').description('Manage the database.');
  db.command('migrate')
    .summary('Apply pending database migrations')
    .description('Apply pending database migrations. Every start does this too. Safe while other processes run.')
    .jsonOption()
    .action(async (options: { json?: boolean }) => {
      await runStateCommand('db migrate', {});
      printResult(options, { migrated: true }, () => 'The database schema is up to date.');
    });
  return db;
}
