import { Argument } from 'commander';
import { CliCommand } from './command.ts';
import type { MoveResult } from './db-move.ts';
import { formatCount, printResult } from './output.ts';
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
  db.command('move')
    .summary('Move all rows to another PostgreSQL, or to the embedded one')
    .description(
      'Copy all rows of the configured database, in one snapshot, into an empty one, and compare counts and checksums of every table. Stop all processes first. An interrupted move continues when the command is run again. The source is not changed. Files and the search index stay where they are.',
    )
    .requiredOption('--to <target>', "postgres://..., 'embedded' (the data folder), or another data folder")
    .jsonOption()
    .examples('db move --to postgres://quire:PASSWORD@db.example.com/quire', 'db move --to embedded')
    .action(async (options: { to: string; json?: boolean }) => {
      const { moveTo } = await import('./db-move.ts');
      const result = await moveTo(options.to);
      printResult(options, result, () => renderMove(result));
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

function renderMove({ tables, next }: MoveResult): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const unchanged = tables.filter(({ isCopied, rows: count }) => !isCopied && count > 0).length;
  const earlier = unchanged === 0 ? '' : ` ${formatCount(unchanged, 'table')} had been copied before.`;
  return [
    `Moved ${formatCount(rows, 'row')} in ${formatCount(tables.length, 'table')}; counts and checksums are equal.${earlier}`,
    ...next,
  ].join('\n');
}
