import { InvalidArgumentError } from 'commander';
import { OperatorError } from '../lib/operator-error.ts';
import { showBackupProgress, withTarget } from './backup-client.ts';
import { CliCommand } from './command.ts';
import { formatCount, printResult } from './output.ts';

/** Options of a restore. */
export interface RestoreOptions {
  to?: string;
  /** Unix milliseconds. */
  at?: number;
  json?: boolean;
}

/** `quire restore`. */
export function restoreCommand(): CliCommand {
  return addRestoreOptions(
    new CliCommand('restore').description(
      'Restore the state of a point in time into an empty data folder: the newest base backup before it, and the WAL from there. The service must not run on the folder.',
    ),
  )
    .examples('restore --at 2026-11-23T10:00:00Z', 'restore --to ./restored')
    .action((options: RestoreOptions) => runRestore(null, options));
}

/** Adds the options of a restore to a command. */
export function addRestoreOptions(command: CliCommand): CliCommand {
  return command
    .option('--to <folder>', 'Data folder to restore into, new or empty (default: QUIRE_DATA_DIR)')
    .option('--at <time>', 'Time as ISO 8601, such as 2026-11-23T10:00:00Z (default: all archived WAL)', parseTime)
    .jsonOption();
}

/** Parses a time with a time zone, Unix milliseconds. Throws an `InvalidArgumentError`. */
export function parseTime(text: string): number {
  const [, date] = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/.exec(text) ?? [];
  const ms = date !== undefined && isDate(date) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a time with its zone, such as 2026-11-23T10:00:00Z.');
  return ms;
}

/** `Date.parse` takes 30 February for 2 March. */
function isDate(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

/** Restores into the folder of `--to`, or into the data folder. */
export async function runRestore(id: string | null, { to, at, ...output }: RestoreOptions): Promise<void> {
  const { loadConfig } = await import('../config/config.ts');
  const config = loadConfig(undefined, to === undefined ? {} : { QUIRE_DATA_DIR: to });
  if (config.databaseUrl !== null) {
    throw new OperatorError('A restore is for the embedded database: unset QUIRE_DATABASE_URL.');
  }
  const { restoreDataFolder } = await import('./restore-folder.ts');
  const line = showBackupProgress();
  const restored = await withTarget(config, (repository) =>
    restoreDataFolder({ config, repository, ...line }, { id, atMs: at ?? null }),
  ).finally(line.end);
  const { files, missing } = restored;
  const result = { id: restored.id, at: new Date(restored.atMs).toISOString(), files, missing };
  printResult(output, { ...result, data_dir: config.dataDir }, () =>
    [
      `Restored ${result.id} to ${result.at} with ${formatCount(files, 'uploaded file')} into ${config.dataDir}.`,
      'Start the service on it; it rebuilds the search indexes, and searches by keyword until then.',
      ...(missing.length === 0 ? [] : [`The content of these files is not in the backup: ${missing.join(', ')}.`]),
    ].join('\n'),
  );
  if (missing.length > 0) throw new OperatorError(`${formatCount(missing.length, 'file')} could not be restored.`);
}
