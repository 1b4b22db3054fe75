import type { Client } from 'pg';
import { OperatorError } from '../../lib/operator-error.ts';

/** Schemas with the tables of Quire and of the job queue. */
const SCHEMAS = ['public', 'pgboss'];
/** Schemas that Quire creates in a database. */
const ALL_SCHEMAS = [...SCHEMAS, 'drizzle'];
/**
 * Tables of the job queue that describe its schema or its statistics: the target has its own, equal or of no use to
 * others.
 */
const NOT_MOVED = ['pgboss.version', 'pgboss.bam', 'pgboss.warning', 'pgboss.queue_stats'];

/** A table with everything that a copy needs. Names are quoted. */
export interface Table {
  name: string;
  /** Stored columns in the order of their names, as a list for SQL. */
  columns: string;
  /** Size on disk in bytes, without indexes. */
  bytes: number;
}

/** Rows of a table and a checksum of their values, independent of their order. */
export interface TableDigest {
  rows: number;
  checksum: string;
}

/** Tables that belong to no extension, and are no partition of another one. */
const LIST_TABLES = `
  select c.oid, n.nspname || '.' || c.relname as plain, format('%I.%I', n.nspname, c.relname) as name,
    (select string_agg(quote_ident(attname), ', ' order by attname collate "C") from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
    (select coalesce(sum(pg_table_size(relid)), pg_table_size(c.oid)) from pg_partition_tree(c.oid)) as bytes,
    (select coalesce(array_agg(confrelid::int8), '{}') from pg_constraint
      where coalesce(pg_partition_root(conrelid), conrelid) = c.oid and contype = 'f' and confrelid <> c.oid) as parents
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and c.relkind in ('r', 'p') and not c.relispartition
    and not exists (select from pg_depend where objid = c.oid and classid = 'pg_class'::regclass and deptype = 'e')
  order by n.nspname, c.relname`;

interface TableRow extends Omit<Table, 'bytes'> {
  oid: string;
  plain: string;
  bytes: string;
  parents: string[];
}

/** Lists the tables whose rows are moved; a table comes after the tables that it references. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<TableRow>(LIST_TABLES, [SCHEMAS]);
  return sortByReferences(rows.filter(({ plain }) => !NOT_MOVED.includes(plain))).map(({ name, columns, bytes }) => ({
    name,
    columns,
    bytes: Number(bytes),
  }));
}

/** Whether the database has none of the tables that Quire creates, nor others in their schemas. */
export async function holdsNoTables(client: Client): Promise<boolean> {
  return (await client.query(LIST_TABLES, [ALL_SCHEMAS])).rows.length === 0;
}

function sortByReferences(rows: readonly TableRow[]): TableRow[] {
  const sorted: TableRow[] = [];
  let pending = [...rows];
  while (pending.length > 0) {
    const waiting = new Set(pending.map(({ oid }) => String(oid)));
    const next = pending.filter(({ parents }) => !parents.some((oid) => waiting.has(String(oid))));
    if (next.length === 0)
      throw new Error(`tables reference each other: ${pending.map(({ name }) => name).join(', ')}`);
    sorted.push(...next);
    pending = pending.filter((row) => !next.includes(row));
  }
  return sorted;
}

/**
 * Computes the digest of a table in the database. md5 and the text of values are equal in every version of PostgreSQL
 * and for every collation; the session must have the settings of `openMoveClient`.
 */
export async function digestTable(client: Client, { name, columns }: Table): Promise<TableDigest> {
  const half = (from: number) => `coalesce(sum(('x' || substr(hash, ${from}, 16))::bit(64)::bigint::numeric), 0)`;
  const { rows } = await client.query(`
    select count(*)::float8 as rows, ${half(1)} || ':' || ${half(17)} as checksum
    from (select md5(row(${columns})::text) as hash from ${name}) hashed`);
  return rows[0];
}

/** Throws an `OperatorError` unless both databases have the same tables with the same columns. */
export function requireSameTables(source: readonly Table[], target: readonly Table[]): void {
  for (const { name, columns } of target) {
    const counterpart = source.find((table) => table.name === name);
    if (counterpart?.columns === columns) continue;
    throw new OperatorError(
      `The table ${name} of the source ${counterpart === undefined ? 'is missing' : `has other columns (${counterpart.columns}) than this version creates (${columns})`}. Nothing was moved.`,
    );
  }
}

/** Partitions of Quire's own tables, which no migration creates, as statements. */
const LIST_PARTITIONS = `
  select format('create table if not exists public.%I partition of public.%I %s', part.relname, whole.relname,
    pg_get_expr(part.relpartbound, part.oid)) as statement
  from pg_inherits join pg_class part on part.oid = inhrelid join pg_class whole on whole.oid = inhparent
  where whole.relnamespace = 'public'::regnamespace and whole.relkind = 'p' order by part.relname`;

/** Creates the partitions of the source in the target, without rows. */
export async function copyPartitions(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ statement: string }>(LIST_PARTITIONS);
  for (const { statement } of rows) await target.query(statement);
}

/** Copies the positions of all sequences. */
export async function copySequences(source: Client, target: Client): Promise<void> {
  const { rows } = await target.query<{ name: string }>(
    "select format('%I.%I', schemaname, sequencename) as name from pg_sequences where schemaname = any($1)",
    [SCHEMAS],
  );
  for (const { name } of rows) {
    const { rows: values } = await source.query(`select last_value, is_called from ${name}`);
    await target.query('select setval($1::regclass, $2, $3)', [name, values[0].last_value, values[0].is_called]);
  }
}
