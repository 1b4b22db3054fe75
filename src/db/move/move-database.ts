import { Client, Pool } from 'pg';
import { getConstructionPlans } from 'pg-boss';
import type { Logger } from '../../lib/logger.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { LEASE_SECONDS } from '../db.ts';
import { MIGRATION_LOCK, migrate, readPendingMigrations } from '../migrate.ts';
import type { PostgresServer } from '../postgres.ts';
import { beginMove, endMove, readMovedSource } from '../unfinished-move.ts';
import {
  copyPartitions,
  copySequences,
  digestTable,
  holdsNoTables,
  listTables,
  requireSameTables,
  type Table,
  type TableDigest,
} from './catalog.ts';
import { copyRows } from './copy-rows.ts';

/** Advisory lock of a move on its target: any number that nothing else in the database uses. */
const MOVE_LOCK = 7_155_021_843;
/**
 * Values have one text form in all databases, and no limit of the role ends a long statement: a snapshot lasts as long
 * as the move.
 */
const SESSION = `set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex';
  set extra_float_digits = 1; set client_encoding = 'UTF8'; set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0`;

/** Result for one table. */
export interface MovedTable extends TableDigest {
  /** Quoted name with its schema. */
  name: string;
  /** Whether rows were copied now; false when an earlier run had copied all of them. */
  isCopied: boolean;
}

/** How far a move is; in bytes of tables on the disk of the source. */
export interface MoveProgress {
  table: string;
  /** Whether the rows of the table are committed; they are compared next. */
  isCopied: boolean;
  movedBytes: number;
  totalBytes: number;
}

/** Options of a move. */
export interface MoveOptions {
  source: PostgresServer;
  target: PostgresServer;
  logger: Logger;
  /** Called with each chunk of rows, and awaited after each table. */
  onProgress(progress: MoveProgress): void | Promise<void>;
  /** Called when all rows are equal, before the target can be used. A failure leaves the move unfinished. */
  beforeEnd(): Promise<void>;
}

/**
 * Copies all rows of a database, in one snapshot, into an empty one, and compares count and checksum of each table. The
 * source is only read, and no process can start on it meanwhile. A table is copied in a transaction: an interrupted
 * move continues with the tables that are not equal yet. Throws an `OperatorError` when a process uses the source, the
 * target is in use, or a table differs.
 */
export async function moveDatabase(options: MoveOptions): Promise<MovedTable[]> {
  const { source, target } = options;
  const guard = await openMoveClient(source);
  const reader = await openMoveClient(source);
  const writer = await openMoveClient(target);
  try {
    await requireIdle(guard, source.name);
    const version = await requireMovableSchema(guard, source.name);
    await reader.query('begin isolation level repeatable read, read only');
    await prepareTarget(writer, await readIdentity(reader), options);
    await createTables(writer, version, options);
    const moved = await moveTables(reader, writer, options);
    await options.beforeEnd();
    await requireIdle(guard, source.name);
    await finish(reader, writer);
    return moved;
  } finally {
    // Ending the connections releases the locks, also those of an interrupted copy.
    await Promise.all([guard, reader, writer].map((client) => client.end().catch(() => {})));
  }
}

async function openMoveClient({ connection, name }: PostgresServer): Promise<Client> {
  const client = new Client({ ...connection, application_name: 'quire-move', keepAlive: true });
  // Without a listener, a lost connection would end the process. Its statements fail with the reason.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(SESSION);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw new OperatorError(`${name} does not answer: ${(error as Error).message}`);
  }
}

/** Keeps processes from starting: each takes this lock to check its migrations. Throws when one runs. */
async function requireIdle(guard: Client, name: string): Promise<void> {
  const { rows } = await guard.query('select pg_try_advisory_lock($1) as locked', [MIGRATION_LOCK]);
  const { rows: tables } = await guard.query("select to_regclass('processes') as name");
  if (tables[0].name === null) throw new OperatorError(`${name} has no tables of Quire: there is nothing to move.`);
  // Processes on an embedded database have the time `infinity`. Its folder is locked, so they have ended.
  const { rows: running } = await guard.query(`
    select count(*)::int as count from processes
    where renewed_at > now() - make_interval(secs => ${LEASE_SECONDS}) and renewed_at < 'infinity'`);
  if (rows[0].locked && running[0].count === 0) return;
  const users = rows[0].locked ? `${running[0].count} processes of Quire` : 'a process of Quire that starts, or a move';
  throw new OperatorError(
    `${name} is used by ${users}. Stop all processes, wait ${LEASE_SECONDS} seconds if one was killed, and run the command again.`,
  );
}

/** Returns the version of the job queue's tables; null when there are none. */
async function requireMovableSchema(guard: Client, name: string): Promise<number | null> {
  const pending = await readPendingMigrations(guard);
  if (pending.length > 0) {
    throw new OperatorError(
      `${name} has pending migrations (${pending.join(', ')}). Run 'quire db migrate' while no process of an older version runs, and move it then.`,
    );
  }
  const { rows } = await guard.query("select to_regclass('pgboss.version') as name");
  if (rows[0].name === null) return null;
  return (await guard.query('select version from pgboss.version')).rows[0].version;
}

async function readIdentity(reader: Client): Promise<string> {
  const { rows } = await reader.query(`
    select system_identifier || '/' || (select oid from pg_database where datname = current_database()) as identity
    from pg_control_system()`);
  return rows[0].identity;
}

async function prepareTarget(writer: Client, identity: string, { target }: MoveOptions): Promise<void> {
  const { rows } = await writer.query(
    "select pg_try_advisory_lock($1) as locked, current_setting('server_encoding') as encoding",
    [MOVE_LOCK],
  );
  const [{ locked, encoding }] = rows;
  if (!locked) throw new OperatorError(`Another move into the target is running. ${target.name} was not changed.`);
  if (encoding !== 'UTF8') {
    throw new OperatorError(
      `${target.name} stores text as ${encoding}. Create it again with encoding UTF8 (create database ... encoding 'UTF8' template template0).`,
    );
  }
  const moved = await readMovedSource(writer);
  if (moved === identity) return;
  if (moved !== null || !(await holdsNoTables(writer))) {
    const content = moved === null ? 'has tables' : 'holds an unfinished move of another database';
    throw new OperatorError(
      `${target.name} ${content}. A database is only moved into an empty one; create one, or drop the tables. Nothing was changed.`,
    );
  }
  await beginMove(writer, identity);
}

/** Creates the tables of this version, and those of the job queue. May be called twice. */
async function createTables(writer: Client, queueVersion: number | null, options: MoveOptions): Promise<void> {
  const { target, logger } = options;
  const pool = new Pool({ ...target.connection, max: 1 });
  pool.on('error', () => {});
  try {
    await migrate(pool, { logger, isAlone: true, isMoveTarget: true });
  } finally {
    await pool.end();
  }
  if (queueVersion === null) return;
  const { rows } = await writer.query("select to_regclass('pgboss.version') as name");
  // One transaction: the schema exists with all of its tables, or not at all.
  if (rows[0].name === null) await writer.query(getConstructionPlans('pgboss'));
  const created = (await writer.query('select version from pgboss.version')).rows[0].version;
  if (created === queueVersion) return;
  throw new OperatorError(
    `The tables of the job queue have version ${queueVersion} in the source, and this version of Quire has ${created}. Start this version once on the source, stop it, and run the command again.`,
  );
}

async function moveTables(reader: Client, writer: Client, options: MoveOptions): Promise<MovedTable[]> {
  const sourceTables = await listTables(reader);
  const tables = await listTables(writer);
  requireSameTables(sourceTables, tables);
  await copyPartitions(reader, writer);
  const sizes = new Map(sourceTables.map(({ name, bytes }) => [name, bytes]));
  const totalBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const moved: MovedTable[] = [];
  let movedBytes = 0;
  for (const table of tables) {
    const size = sizes.get(table.name) ?? 0;
    let copiedBytes = 0;
    const report = (isCopied: boolean) =>
      options.onProgress({
        table: table.name,
        isCopied,
        movedBytes: movedBytes + (isCopied ? size : Math.min(copiedBytes, size)),
        totalBytes,
      });
    const onBytes = (bytes: number) => {
      copiedBytes += bytes;
      void report(false);
    };
    moved.push(await moveTable(reader, writer, table, { onBytes, onCopied: async () => report(true) }));
    movedBytes += size;
  }
  return moved;
}

/** Copies a table unless the target has the same rows, and compares it. */
async function moveTable(
  reader: Client,
  writer: Client,
  table: Table,
  { onBytes, onCopied }: { onBytes(bytes: number): void; onCopied(): Promise<void> },
): Promise<MovedTable> {
  const { name, columns } = table;
  const expected = await digestTable(reader, table);
  if (isEqual(expected, await digestTable(writer, table))) {
    await onCopied();
    return { name, ...expected, isCopied: false };
  }
  // The triggers of the source have run; those of the audit log reject the deletion of rows.
  await writer.query(`begin; alter table ${name} disable trigger user; delete from ${name}`);
  const statements = {
    from: `copy (select ${columns} from ${name}) to stdout`,
    to: `copy ${name} (${columns}) from stdin`,
  };
  await copyRows(reader, writer, statements, onBytes);
  await writer.query(`alter table ${name} enable trigger user; commit`);
  await onCopied();
  const actual = await digestTable(writer, table);
  if (isEqual(expected, actual)) return { name, ...expected, isCopied: true };
  throw new OperatorError(
    `The table ${name} differs after the copy: the source has ${expected.rows} rows with checksum ${expected.checksum}, the target ${actual.rows} with ${actual.checksum}. Another program may have written to the target. Run the command again, which copies this table anew.`,
  );
}

const isEqual = (a: TableDigest, b: TableDigest): boolean => a.rows === b.rows && a.checksum === b.checksum;

/**
 * Makes the target usable. What processes of the source held ends, and their jobs run again, as after a start on an
 * embedded database.
 */
async function finish(reader: Client, writer: Client): Promise<void> {
  await writer.query('begin; delete from processes');
  await copySequences(reader, writer);
  const { rows } = await writer.query("select to_regclass('pgboss.job') as name");
  if (rows[0].name !== null) {
    await writer.query("update pgboss.job set state = 'retry', start_after = now() where state = 'active'");
  }
  await endMove(writer);
  await writer.query('commit');
  await writer.query('analyze');
}
