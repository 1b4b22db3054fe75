import { Argument } from 'commander';
import { OperatorError } from '../lib/operator-error.ts';
import { runInState, runOnTarget } from './backup-client.ts';
import type { BackupRow, VerificationReport } from './backup-commands.ts';
import { CliCommand } from './command.ts';
import { formatCount, formatMegabytes, formatTable, printResult } from './output.ts';
import { addRestoreOptions, type RestoreOptions, runRestore } from './restore.ts';

interface JsonOption {
  json?: boolean;
}

/** `quire backup`. */
export function backupCommand(): CliCommand {
  const backup = new CliCommand('backup').description(
    'Back up and restore the embedded database, uploaded files and the key of stored credentials. Target: QUIRE_BACKUP_URL. Guide: docs/use/backup.md.',
  );
  backup
    .command('create')
    .summary('Make a base backup now')
    .description('Make a base backup now, while the service runs, and delete the outdated ones (QUIRE_BACKUP_KEEP).')
    .jsonOption()
    .action(create);
  backup
    .command('list')
    .summary('List the backups and the times that can be restored')
    .description('List the complete backups of the target and the times that can be restored.')
    .jsonOption()
    .action(list);
  backup
    .command('verify')
    .summary('Read backups and compare all sizes and hashes')
    .description('Read everything that a restore needs, and compare sizes and hashes. Names what is damaged.')
    .addArgument(new Argument('[id]', 'The backup (default: all)'))
    .jsonOption()
    .action(verify);
  addRestoreOptions(
    backup
      .command('restore')
      .summary('Restore into an empty data folder')
      .description('Restore a backup and the WAL after it into an empty data folder. The service must not run on it.')
      .addArgument(new Argument('[id]', 'The backup to begin with (default: the newest one before --at)')),
  )
    .examples('backup restore --to ./restored', 'backup restore --to ./restored --at 2026-11-23T10:00:00Z')
    .action((id: string | undefined, options: RestoreOptions) => runRestore(id ?? null, options));
  return backup;
}

async function create(options: JsonOption): Promise<void> {
  const created = (await runInState('backup create')) as BackupRow;
  printResult(options, created, () =>
    [
      `Backup ${created.id}: ${formatMegabytes(created.bytes)} with ${formatCount(created.files, 'uploaded file')}.`,
      created.has_secrets_key
        ? `The key of stored credentials is in it (secrets/${created.id}.key): who reads the target can open them. QUIRE_BACKUP_PASSPHRASE encrypts backups.`
        : 'QUIRE_SECRETS_KEY is not in it: keep its value elsewhere, stored credentials cannot be opened without.',
      'Model files and quire.yaml are not in it.',
    ].join('\n'),
  );
}

async function list(options: JsonOption): Promise<void> {
  const rows = (await runOnTarget('backup list', {}, async (repository) => {
    const { listBackups } = await import('./backup-commands.ts');
    return listBackups(repository);
  })) as BackupRow[];
  printResult(options, rows, () =>
    rows.length === 0
      ? 'There are no backups.'
      : formatTable([
          ['BACKUP', 'SIZE', 'FILES', 'RESTORE FROM', 'RESTORE UNTIL'],
          ...rows.map((row) => [
            row.id,
            formatMegabytes(row.bytes),
            String(row.files),
            row.from ?? 'not possible',
            row.until ?? '-',
          ]),
        ]),
  );
}

async function verify(id: string | undefined, options: JsonOption): Promise<void> {
  const report = (await runOnTarget('backup verify', { id: id ?? null }, async (repository, onProgress) => {
    const { verifyBackups } = await import('./backup-commands.ts');
    return verifyBackups(repository, id ?? null, onProgress);
  })) as VerificationReport;
  printResult(options, report, () =>
    [
      ...report.defects,
      ...report.backups.map(
        ({ id: backupId, objects, defects }) =>
          `${backupId}: ${formatCount(objects, 'object')} read, ${defects.length === 0 ? 'intact' : formatCount(defects.length, 'defect')}.`,
      ),
    ].join('\n'),
  );
  if (report.defects.length > 0)
    throw new OperatorError(`${formatCount(report.defects.length, 'object')} of the backups cannot be used.`);
}
