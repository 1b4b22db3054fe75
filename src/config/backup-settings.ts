import { Type } from 'typebox';

/** Settings of backups of the embedded database. */
export const BACKUP_SETTINGS = {
  backupUrl: {
    env: 'QUIRE_BACKUP_URL',
    file: 'backup_url',
    schema: Type.String({ minLength: 1 }),
    default: null,
    description:
      'Target of backups: a folder, best on another disk, or `s3://bucket/prefix?endpoint=https://host&region=name` with credentials as for `QUIRE_BLOBS_URL`. The service then archives the WAL of the embedded database there all the time. Unset: no backups. See backup.md.',
  },
  backupSchedule: {
    env: 'QUIRE_BACKUP_SCHEDULE',
    file: 'backup_schedule',
    schema: Type.String({ pattern: '^\\s*(\\S+\\s+){4}\\S+\\s*$' }),
    default: null,
    description:
      'Times of base backups as a cron expression of five fields in UTC, such as `0 3 * * *`. A missed backup is made up for. Unset: only `quire backup create` makes them.',
  },
  backupKeep: {
    env: 'QUIRE_BACKUP_KEEP',
    file: 'backup_keep',
    schema: Type.Integer({ minimum: 1, maximum: 1000 }),
    default: 7,
    description:
      'Number of base backups that are kept. A new one deletes older ones, and the WAL and files that only those need.',
  },
  backupPassphrase: {
    env: 'QUIRE_BACKUP_PASSPHRASE',
    file: null,
    schema: Type.String({ minLength: 12, maxLength: 1000 }),
    default: null,
    secret: true,
    description:
      'Passphrase that encrypts everything in the backup target: at least 12 characters. Without it, encrypted backups are lost. Unset: backups are not encrypted.',
  },
  backupArchiveSeconds: {
    env: 'QUIRE_BACKUP_ARCHIVE_SECONDS',
    file: 'backup_archive_seconds',
    schema: Type.Integer({ minimum: 5, maximum: 3600 }),
    default: 60,
    description:
      "Maximum age of a change in seconds until its WAL is archived (PostgreSQL's `archive_timeout`), and so the loss when the machine is lost. Shorter times make more WAL files.",
  },
  backupMaxPendingMegabytes: {
    env: 'QUIRE_BACKUP_MAX_PENDING_MB',
    file: 'backup_max_pending_mb',
    schema: Type.Integer({ minimum: 64, maximum: 1_048_576 }),
    default: 2048,
    description:
      'Maximum size in MB of WAL that waits on the disk for a backup target that cannot be reached. Beyond it, that WAL is given up, and the next base backup is made at once: the disk must not fill.',
  },
} as const;
