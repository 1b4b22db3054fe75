import { truncateText } from './truncate.ts';

/**
 * An error with a message for the operator: what happened and what to do next. `main.ts` prints it without a stack
 * trace and exits with code 1.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** Longer messages quote the input of a library. */
const MAX_REASON_CHARACTERS = 2_000;

/** Patterns of library messages that quote input (JSON text, filter values), and their replacements. */
const QUOTATIONS: readonly [RegExp, string][] = [
  [/(?:\.{3})?".*"(?:\.{3})? is not valid JSON/s, 'the text is not valid JSON'],
  [/filter expression .*/s, 'filter expression'],
];

/**
 * Returns the message of any thrown value, truncated and without quoted input: for logs, operators and job errors.
 * Input quoted by the database is removed in `db/failed-statement.ts`.
 */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  const message = truncateText(findMessage(error), MAX_REASON_CHARACTERS);
  return QUOTATIONS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), message);
}

/** Fields that identify an error without quoting input: Emscripten's `ErrnoError` has no message, and is no `Error`. */
const IDENTIFYING_FIELDS = ['code', 'errno', 'syscall', 'status'];

function findMessage(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const fields = error as Record<string, unknown>;
  if (typeof fields['message'] === 'string' && fields['message'] !== '') return fields['message'];
  const name = typeof fields['name'] === 'string' ? fields['name'] : (error.constructor?.name ?? 'object');
  const idFields = IDENTIFYING_FIELDS.flatMap((key) => {
    const value = fields[key];
    return typeof value === 'string' || typeof value === 'number' ? [`${key} ${value}`] : [];
  });
  return `${name} without a message${idFields.length === 0 ? '' : ` (${idFields.join(', ')})`}`;
}

/** Returns name, message and stack of any thrown value, for logs of internal errors. */
export function describeErrorWithStack(error: unknown): string {
  if (!(error instanceof Error)) return describeError(error);
  const { stack = '', message } = error;
  // The stack repeats the original message, which may quote input.
  const start = stack.indexOf(message);
  const places = start === -1 ? '' : stack.slice(start + message.length);
  return `${error.name}: ${describeError(error)}${truncateText(places, MAX_REASON_CHARACTERS)}`;
}

/** Describes the cause of an error with its stack, for logs; undefined without one. */
export function describeCause({ cause }: Error): string | undefined {
  return cause === undefined ? undefined : describeErrorWithStack(cause);
}
