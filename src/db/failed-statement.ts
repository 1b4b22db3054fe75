import { PgPreparedQuery } from 'drizzle-orm/pg-core';
import { describeError } from '../lib/operator-error.ts';
import { truncateText } from '../lib/truncate.ts';

/** Enough to know a statement by. One that writes many rows goes on with their placeholders. */
const MAX_STATEMENT_CHARACTERS = 500;

/** SQLSTATEs whose sentences quote values, in any language: data exceptions, and syntax errors, which quote the text they stumble over. */
const QUOTES_VALUES = /^(22...|42601)$/;

/**
 * SQLSTATEs and system codes of a server that is not reached: connection failures (08), shutdown, crash and start (57P), too many
 * connections; `ENOENT` is the socket of an embedded server that is starting again.
 */
const UNAVAILABLE_CODE =
  /^(08...|57P0[123]|53300|E(CONNREFUSED|CONNRESET|PIPE|NOENT|TIMEDOUT|HOSTUNREACH|NOTFOUND|AI_AGAIN))$/;
/** Errors of the driver without a code: the connection broke, or none was free or accepted in time. */
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** What PostgreSQL says of an error. `detail` and `where` quote values, and are not read. */
interface Report {
  code?: unknown;
  table?: unknown;
  column?: unknown;
  constraint?: unknown;
}

/**
 * A statement that failed: why, and its text with placeholders. Holds none of its values, which are documents and keys: not in the message,
 * and nothing that leads to them. So it may be logged.
 */
export class FailedStatement extends Error {
  override readonly name = 'FailedStatement';
  /** SQLSTATE such as `23505`, or a code of Node such as `ECONNREFUSED`; null where there is none. */
  readonly code: string | null;
  readonly constraint: string | null;
  readonly table: string | null;
  readonly column: string | null;
  /** The server was not reached, or went away before it answered: the same statement may succeed in a moment. */
  readonly isUnavailable: boolean;

  /** `error` is what the driver threw. */
  constructor(statement: string, error: unknown) {
    const { code, constraint, table, column } = (error ?? {}) as Report;
    const facts = { code: textOf(code), constraint: textOf(constraint), table: textOf(table), column: textOf(column) };
    const known = Object.entries(facts).flatMap(([name, text]) => (text === null ? [] : [`${name} ${text}`]));
    const reason = QUOTES_VALUES.test(facts.code ?? '') ? 'a value or its form is not accepted' : describeError(error);
    const more = known.length === 0 ? '' : ` (${known.join(', ')})`;
    super(`${reason}${more} in: ${truncateText(statement, MAX_STATEMENT_CHARACTERS)}`);
    this.code = facts.code;
    this.constraint = facts.constraint;
    this.table = facts.table;
    this.column = facts.column;
    this.isUnavailable = UNAVAILABLE_CODE.test(facts.code ?? '') || UNAVAILABLE_MESSAGE.test(describeError(error));
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Runs a statement; what it throws is a `FailedStatement`. `text` has placeholders, no values. */
export async function running<T>(text: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof FailedStatement ? error : new FailedStatement(text, error);
  }
}

/**
 * Has every statement of Drizzle, on each database and in transactions, throw a `FailedStatement`. Drizzle's own error would write all
 * parameters into its message, which can be 500 MB of documents. It is thrown in this one method, beside a cache that we do not use.
 */
export function keepValuesOutOfErrors(): void {
  const value = (text: string, _parameters: unknown[], run: () => Promise<unknown>) => running(text, run);
  Object.defineProperty(PgPreparedQuery.prototype, 'queryWithCache', { value, configurable: true });
}
