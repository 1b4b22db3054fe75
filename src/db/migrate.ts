import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Logger } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { pause, retry } from '../lib/retry.ts';
import { LEASE_SECONDS, MIGRATIONS_FOLDER } from './db.ts';
import { concurrentIndexes, type MigrationPhase, migrationPhase } from './migration-phase.ts';
import { QUERY_CANCELED } from './sql-states.ts';
import { requireNoUnfinishedMove } from './unfinished-move.ts';

/** Advisory lock of migrations: any number that nothing else in the database uses. */
export const MIGRATION_LOCK = 7_155_021_842;
/** Polled: a session that waits in `pg_advisory_lock` holds a snapshot, for which `create index concurrently` waits. */
const LOCK_POLL_MS = 100;
/** While a statement waits for its table lock, other statements on the table wait behind it. */
const TABLE_LOCK_TIMEOUT_MS = 500;
const RETRY_DELAYS_MS = [200, 500, 1_000, 2_000];
const RETRY_BUDGET_MS = { expand: 600_000, contract: 10_000 };
/** A contract step that needs more, beside running processes, is postponed until none runs. */
const CONTRACT_TIMEOUT_MS = 5_000;
/** SQLSTATEs `lock_not_available` and `deadlock_detected`. */
const LOCK_FAILURES = new Set(['55P03', '40P01']);

/** The schema needs a newer version of the program. */
export class NewerSchemaError extends OperatorError {}

interface Migration {
  name: string;
  /** Time of creation in Unix milliseconds, which orders migrations. */
  version: number;
  hash: string;
  /** Parts between the breakpoints: each may be several statements, unless it creates an index concurrently. */
  parts: string[];
  phase: MigrationPhase;
}

/** Dependencies of `migrate`. */
export interface MigrateOptions {
  logger: Logger;
  /** Whether no other process can use the database. */
  isAlone: boolean;
  /** Default: the migrations of this version. */
  folder?: string;
  /** Whether a move of another database into this one may be unfinished, because it calls this. */
  isMoveTarget?: boolean;
}

/** Reads the version of the newest migration of this program. Processes register it beside their lease. */
export const readNewestMigration = (): number => readJournal(MIGRATIONS_FOLDER).at(-1)?.when ?? 0;

/**
 * Applies the pending migrations, each in a transaction, one process at a time. Contract migrations are applied when
 * all running processes know them. Returns the names of postponed ones. Throws an `OperatorError` when a newer version
 * has contracted the schema, or when a table stays locked.
 */
export async function migrate(pool: Pool, options: MigrateOptions): Promise<string[]> {
  const connection = await pool.connect();
  try {
    await connection.query('set statement_timeout = 0');
    while (!(await tryLock(connection))) await pause(LOCK_POLL_MS);
    if (options.isMoveTarget !== true) await requireNoUnfinishedMove(connection);
    const migrations = readMigrations(options.folder ?? MIGRATIONS_FOLDER);
    const pending = await selectPending(connection, migrations);
    if (pending.length === migrations.length) {
      // An empty database: one transaction saves a flush for each migration.
      const plain = pending.filter(({ parts }) => concurrentIndexes(parts).length === 0);
      await applyInTransaction(connection, plain, 0);
    }
    const postponed = await applyPending(connection, await selectPending(connection, migrations), options);
    await connection.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return postponed;
  } finally {
    // Closes the connection instead of reusing it, which also releases the lock after a failure.
    connection.release(true);
  }
}

async function tryLock(connection: PoolClient): Promise<boolean> {
  const { rows } = await connection.query('select pg_try_advisory_lock($1) as locked', [MIGRATION_LOCK]);
  return rows[0].locked;
}

/** Returns the migrations that are not applied. Throws if a newer version has contracted the schema. */
async function selectPending(connection: PoolClient, migrations: readonly Migration[]): Promise<Migration[]> {
  // The table of Drizzle's migrator, which applied the migrations of earlier versions.
  await connection.query(`
    set client_min_messages = error; create schema if not exists drizzle;
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
    alter table drizzle.__drizzle_migrations add column if not exists phase text;
    reset client_min_messages`);
  return readPending(connection, migrations);
}

/**
 * Returns the names of the migrations of this version that the database lacks, without changing the database. Throws an
 * `OperatorError` when a newer version has contracted the schema, or the database has no tables of Quire.
 */
export async function readPendingMigrations(connection: ClientBase): Promise<string[]> {
  return (await readPending(connection, readMigrations(MIGRATIONS_FOLDER))).map(({ name }) => name);
}

async function readPending(connection: ClientBase, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await connection.query('select hash, created_at, phase from drizzle.__drizzle_migrations');
  const last = migrations.at(-1)?.version ?? 0;
  const unknown = rows.filter((row) => Number(row.created_at) > last && row.phase !== 'expand').length;
  if (unknown > 0) {
    throw new NewerSchemaError(
      `The database was migrated by a newer version of Quire (${unknown} migrations that this version does not know and cannot work with). Start that version, or restore the backup that was made before the upgrade.`,
    );
  }
  const applied = new Set(rows.flatMap((row) => [row.hash, row.created_at]));
  return migrations.filter(({ hash, version }) => !applied.has(hash) && !applied.has(String(version)));
}

async function applyPending(
  connection: PoolClient,
  pending: readonly Migration[],
  { logger, isAlone }: MigrateOptions,
): Promise<string[]> {
  const postponed: string[] = [];
  for (const migration of pending) {
    const { name, phase, version } = migration;
    const running = isAlone ? [] : await selectRunningVersions(connection);
    const isBlocked = phase === 'contract' && running.some((known) => known < version);
    if (!isBlocked && (await applyMigration(connection, migration, running.length > 0, logger))) {
      logger.info({ migration: name, phase }, 'migration applied');
      continue;
    }
    postponed.push(name);
    const reason = isBlocked ? 'a process of an older version runs' : 'it would block the running processes';
    logger.warn({ migration: name, reason }, 'contract migration postponed');
  }
  return postponed;
}

/** Returns the newest migration that each running process knows; 0 for processes that do not register it. */
async function selectRunningVersions(connection: PoolClient): Promise<number[]> {
  const { rows: tables } = await connection.query("select to_regclass('processes') as name");
  if (tables[0].name === null) return [];
  // As JSON, because the migration that adds the column may be pending.
  const { rows } = await connection.query(`
    select coalesce((to_jsonb(processes) ->> 'schema_version')::float8, 0) as version
    from processes where renewed_at > now() - make_interval(secs => ${LEASE_SECONDS})`);
  return rows.map(({ version }) => version);
}

/** Returns false for a contract step that does not get its locks in time, or would hold them for too long. */
async function applyMigration(
  connection: PoolClient,
  migration: Migration,
  isShared: boolean,
  logger: Logger,
): Promise<boolean> {
  const isContract = migration.phase === 'contract';
  const indexes = concurrentIndexes(migration.parts);
  const apply = () =>
    indexes.length > 0
      ? createIndexes(connection, migration, indexes)
      : applyInTransaction(connection, [migration], isContract && isShared ? CONTRACT_TIMEOUT_MS : 0);
  const isLockFailure = (error: unknown) => LOCK_FAILURES.has((error as { code: string }).code);
  try {
    await retry(apply, {
      delaysMs: RETRY_DELAYS_MS,
      jitter: [0.5, 1.5],
      budgetMs: RETRY_BUDGET_MS[migration.phase],
      isPassing: isLockFailure,
      onRetry: (error) => logger.info({ migration: migration.name, reason: describeError(error) }, 'migration retried'),
    });
    return true;
  } catch (error) {
    const isTimeout = (error as { code: string }).code === QUERY_CANCELED;
    if (isContract && (isTimeout || isLockFailure(error))) return false;
    if (!isLockFailure(error)) throw error;
    throw new OperatorError(
      `The migration ${migration.name} could not lock its tables within 10 minutes. End the long transactions of other programs on this database (pg_stat_activity lists them), and start again.`,
    );
  }
}

async function applyInTransaction(
  connection: PoolClient,
  migrations: readonly Migration[],
  statementTimeoutMs: number,
): Promise<void> {
  await connection.query('begin');
  try {
    await connection.query(`
      set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}; set local statement_timeout = ${statementTimeoutMs}`);
    for (const migration of migrations) {
      await connection.query(migration.parts.join('\n'));
      await insertApplied(connection, migration);
    }
    await connection.query('commit');
  } catch (error) {
    await connection.query('rollback').catch(() => {});
    throw error;
  }
}

/** May be repeated. A failed `create index concurrently` leaves an invalid index. */
async function createIndexes(connection: PoolClient, migration: Migration, names: readonly string[]): Promise<void> {
  for (const [i, name] of names.entries()) {
    const select = 'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)';
    const { rows } = await connection.query(select, [`"${name}"`]);
    if (rows[0]?.valid === true) continue;
    if (rows[0] !== undefined) await connection.query(`drop index concurrently "${name}"`);
    await connection.query(migration.parts[i] ?? '');
  }
  await insertApplied(connection, migration);
}

async function insertApplied(connection: PoolClient, { hash, version, phase }: Migration): Promise<void> {
  const insert = 'insert into drizzle.__drizzle_migrations (hash, created_at, phase) values ($1, $2, $3)';
  await connection.query(insert, [hash, version, phase]);
}

function readMigrations(folder: string): Migration[] {
  return readJournal(folder).map(({ tag, when }) => {
    const file = readFileSync(join(folder, `${tag}.sql`), 'utf8');
    const parts = file.split('--> statement-breakpoint');
    // Drizzle's hash.
    const hash = createHash('sha256').update(file).digest('hex');
    return { name: tag, version: when, hash, parts, phase: migrationPhase(parts.join('\n')) };
  });
}

function readJournal(folder: string): { tag: string; when: number }[] {
  return JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')).entries;
}
