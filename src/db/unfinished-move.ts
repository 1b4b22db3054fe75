import type { ClientBase } from 'pg';
import { OperatorError } from '../lib/operator-error.ts';

/** Schema that marks the target of an unfinished move. No process starts on such a database. */
const SCHEMA = 'quire_move';

/** Throws an `OperatorError` when the database is the target of a move that has not ended. */
export async function requireNoUnfinishedMove(client: ClientBase): Promise<void> {
  if ((await readMovedSource(client)) === null) return;
  throw new OperatorError(
    "A move of another database into this one has not ended. Run 'quire db move' again, which continues it, or drop this database and create it again.",
  );
}

/** Returns the identity of the database that is moved into this one; null when no move is unfinished. */
export async function readMovedSource(client: ClientBase): Promise<string | null> {
  const { rows: tables } = await client.query(`select to_regclass('${SCHEMA}.source') as name`);
  if (tables[0].name === null) return null;
  const { rows } = await client.query(`select identity from ${SCHEMA}.source`);
  return rows[0]?.identity ?? '';
}

/** Marks the database as the target of a move. */
export async function beginMove(client: ClientBase, source: string): Promise<void> {
  const identity = client.escapeLiteral(source);
  await client.query(`
    begin; create schema ${SCHEMA}; create table ${SCHEMA}.source (identity text not null);
    insert into ${SCHEMA}.source values (${identity}); commit`);
}

/** Removes the mark. */
export async function endMove(client: ClientBase): Promise<void> {
  await client.query(`drop schema ${SCHEMA} cascade`);
}
