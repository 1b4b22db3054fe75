/** Configuration of the embedded PostgreSQL, on the command line, which overrides the files in the data folder. */

/** Name of the database superuser. Authentication is `trust`: only the owner of the data folder reaches the socket. */
export const DATABASE_USER = 'quire';
/** `initdb` creates this database. */
export const DATABASE_NAME = 'postgres';
/** Part of the name of the socket file; no port is opened. */
export const SOCKET_PORT = 5432;
/** Connections of a process: its pool, and those for notifications and locks. */
const PROCESS_CONNECTIONS = 12;
/** One `psql` of an operator, and those that PostgreSQL reserves for superusers. */
const OTHER_CONNECTIONS = 8;

/** Fields of a log line before severity and message: backend type, process id, SQLSTATE; see `server-log.ts`. */
const LOG_LINE_PREFIX = '%b|%p|%e|';

/** PostgreSQL settings. Durability settings repeat the defaults so that `ALTER SYSTEM` cannot switch them off. */
export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  cluster_name: 'quire',

  // Connections: a UNIX socket in the working directory of the server, which is the database folder. A relative path is
  // not bound by the limit of 103 bytes, and works where the parent folders are not accessible to the user of the
  // server.
  listen_addresses: '',
  port: String(SOCKET_PORT),
  unix_socket_directories: '.',
  unix_socket_permissions: '0600',

  // Memory. The kernel's page cache serves what does not fit: 100,000 rows in 135 MB were written and read at random in
  // the same CPU time with 32 MB as with 128 MB.
  shared_buffers: '32MB',
  maintenance_work_mem: '32MB',
  // `shm` needs more than the 64 MB of /dev/shm in containers, and systemd's RemoveIPC deletes its files while they are
  // used.
  dynamic_shared_memory_type: 'mmap',
  huge_pages: 'off',

  // Processes. Statements are index look-ups and bounded writes, which parallel plans and compiled expressions only
  // delay.
  jit: 'off',
  max_worker_processes: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  max_logical_replication_workers: '0',
  autovacuum: 'on',
  autovacuum_max_workers: '2',
  // The default, `worker`, starts three more processes.
  io_method: 'sync',

  // Durability.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // A failed fsync ends the server: its data is read again from WAL.
  data_sync_retry: 'off',
  restart_after_crash: 'on',

  // WAL: no replication, but complete enough for base backups, also when they are configured later. 256 MB bound crash
  // recovery to seconds, and the disk that an idle service keeps to two segments.
  wal_level: 'replica',
  max_wal_senders: '0',
  max_wal_size: '256MB',
  min_wal_size: '32MB',

  // Log. Messages of statements may quote values: `terse` leaves out details, and no statement text is logged.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_line_prefix: LOG_LINE_PREFIX,
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  // Interval at which the progress of crash recovery is logged.
  log_startup_progress_interval: '10s',
  lc_messages: 'C',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/**
 * How a whole cluster is flushed to disk, after `initdb` and before crash recovery. One `syncfs` takes 0.1 s where an
 * fsync of each of the 1,000 files took 2 s. Linux reports its write errors since 5.8.
 */
const syncMethod = (platform: string): 'syncfs' | 'fsync' => (platform === 'linux' ? 'syncfs' : 'fsync');

/**
 * Settings with which the server can be backed up while it runs. Completed WAL segments stay in `pg_wal`, marked
 * `.ready`, until `backup/wal-archiver.ts` has archived them: without a command, PostgreSQL only marks them, so that no
 * process is started for each segment. `archiveSeconds`: a segment is completed after this time.
 */
export function archiveSettings(archiveSeconds: number): Record<string, string> {
  return { archive_mode: 'on', archive_command: '', archive_timeout: String(archiveSeconds) };
}

/** Options of a server's command line. */
interface ArgumentOptions {
  /** Processes of the service that connect to it. */
  processes?: number | undefined;
  /** Settings that replace those of `SERVER_SETTINGS`. */
  settings?: Readonly<Record<string, string>> | undefined;
  platform?: string;
}

/** Arguments of `postgres` for a database folder. */
export function serverArguments(
  dataDirectory: string,
  { processes = 1, settings = {}, platform = process.platform }: ArgumentOptions = {},
): string[] {
  const connections = processes * PROCESS_CONNECTIONS + OTHER_CONNECTIONS;
  const all = {
    ...SERVER_SETTINGS,
    ...settings,
    max_connections: String(connections),
    recovery_init_sync_method: syncMethod(platform),
  };
  return ['-D', dataDirectory, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Arguments of `initdb`. Text is compared by code point and classified by Unicode, on every machine alike. */
export function initdbArguments(dataDirectory: string, platform: string = process.platform): string[] {
  return [
    '-D',
    dataDirectory,
    `--username=${DATABASE_USER}`,
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    `--sync-method=${syncMethod(platform)}`,
    '--no-instructions',
  ];
}
