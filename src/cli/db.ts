import { Argument } from 'commander';
import { CliCommand } from './command.ts';
import { printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** The values of `StoreName`, whose module is imported when the command runs. */
const STORES = ['files', 'index', 'secrets'];

/** `quire db`. */
export function dbCommand(): CliCommand {
  const db = new CliCommand('db').description('Manage the database.');
  db.command('migrate')
    .summary('Apply pending database migrations')
    .description(
      'Apply pending database migrations. Every start does this too. Safe while other processes run: migrations that an older version cannot work with are postponed until no process of that version runs.',
    )
    .jsonOption()
    .action(async (options: { json?: boolean }) => {
      const postponed = (await runStateCommand('db migrate', {})) as string[];
      printResult(options, { migrated: true, postponed }, () =>
        postponed.length === 0
          ? 'The database schema is up to date.'
          : `This version can run. Postponed until no process of an older version runs: ${postponed.join(', ')}. Stop those processes, and run this command again.`,
      );
    });
  db.command('forget-store')
    .summary('Accept another blob store, search index or secrets key')
    .description(
      'Forget which blob store, search index or secrets key belongs to the database: the next process that starts decides. Without it, a process with other stores does not start. Stop all processes first. A new index is rebuilt from the database; files and credentials of a lost store are lost.',
    )
    .addArgument(new Argument('<store>', 'The store').choices(STORES))
    .jsonOption()
    .examples('db forget-store index')
    .action(async (store: string, options: { json?: boolean }) => {
      await runStateCommand('db forget-store', { store });
      printResult(
        options,
        { forgotten: store },
        () => `The next process that starts decides which ${store} belong to the database.`,
      );
    });
  return db;
}
