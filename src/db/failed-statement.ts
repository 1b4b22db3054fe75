import { PgPreparedQuery } from 'drizzle-orm/pg-core';
import { describeError } from '../lib/operator-error.ts';
import { FREE_SPACE } from '../lib/store-unavailable.ts';
import { truncateText } from '../lib/truncate.ts';

/** Characters of a statement in the error: enough to identify it. Long ones end with placeholders of rows. */
const MAX_STATEMENT_CHARACTERS = 500;

/** SQLSTATE classes whose messages quote values: data exceptions, and syntax errors, which quote the invalid text. */
const QUOTES_VALUES = /^(22...|42601)$/;

/**
 * SQLSTATEs and system codes of an unreachable server: connection failures (08), shutdown, crash and start (57P), too
 * many connections; `ENOENT` is the socket of an embedded server that is restarting.
 */
const UNAVAILABLE_CODE =
  /^(08...|57P0[123]|53300|E(CONNREFUSED|CONNRESET|PIPE|NOENT|TIMEDOUT|HOSTUNREACH|NOTFOUND|AI_AGAIN))$/;
/** Driver errors without a code: the connection broke, or none was free or accepted in time. */
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** SQLSTATEs of a server that cannot write: disk full, I/O error, or a read-only standby. */
export const CANNOT_WRITE: ReadonlySet<string> = new Set(['53100', '58030', '25006']);

/** Fields of a PostgreSQL error that are read. `detail` and `where` quote values. */
interface Report {
  code?: unknown;
  table?: unknown;
  column?: unknown;
  constraint?: unknown;
}

/**
 * Error of a failed statement: the reason, and the statement's text with placeholders. Contains no values, which are
 * documents and keys, so it may be logged.
 */
export class FailedStatement extends Error {
  override readonly name = 'FailedStatement';
  /** SQLSTATE such as `23505`, or a code of Node such as `ECONNREFUSED`; null without a code. */
  readonly code: string | null;
  readonly constraint: string | null;
  readonly table: string | null;
  readonly column: string | null;
  /** Whether the server is reachable, but cannot write. */
  readonly isNotWritable: boolean;
  /** Whether the server cannot write, was unreachable, or went away before it responded. A retry may succeed. */
  readonly isUnavailable: boolean;

  /** `error` is the error of the driver. */
  constructor(statement: string, error: unknown) {
    const { code, constraint, table, column } = (error ?? {}) as Report;
    const facts = {
      code: readText(code),
      constraint: readText(constraint),
      table: readText(table),
      column: readText(column),
    };
    const labels = Object.entries(facts).flatMap(([name, text]) => (text === null ? [] : [`${name} ${text}`]));
    const reason = QUOTES_VALUES.test(facts.code ?? '') ? 'a value or its form is not accepted' : describeError(error);
    const more = labels.length === 0 ? '' : ` (${labels.join(', ')})`;
    const isNotWritable = CANNOT_WRITE.has(facts.code ?? '');
    const advice = isNotWritable ? `The database cannot write. ${FREE_SPACE} ` : '';
    super(`${advice}${reason}${more} in: ${truncateText(statement, MAX_STATEMENT_CHARACTERS)}`);
    this.code = facts.code;
    this.constraint = facts.constraint;
    this.table = facts.table;
    this.column = facts.column;
    this.isNotWritable = isNotWritable;
    this.isUnavailable =
      isNotWritable || UNAVAILABLE_CODE.test(facts.code ?? '') || UNAVAILABLE_MESSAGE.test(describeError(error));
  }
}

const readText = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Runs a statement and converts its error to a `FailedStatement`. `text` has placeholders instead of values. */
export async function running<T>(text: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof FailedStatement ? error : new FailedStatement(text, error);
  }
}

/**
 * Patches the method of Drizzle that runs all statements, also those in transactions, so that they throw a
 * `FailedStatement`. Drizzle's own error contains all parameters, up to 500 MB of documents. The method also implements
 * a cache, which is not used.
 */
export function keepValuesOutOfErrors(): void {
  const value = (text: string, _parameters: unknown[], run: () => Promise<unknown>) => running(text, run);
  Object.defineProperty(PgPreparedQuery.prototype, 'queryWithCache', { value, configurable: true });
}
