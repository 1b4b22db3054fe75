import { truncateText } from './truncate-text.ts';

/**
 * Why the process cannot start or a command cannot be carried out: one sentence that says what to do.
 * `main.ts` prints it without a stack and exits with 1.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** Far beyond every sentence. A message that is longer holds what a library was working on. */
const MAX_REASON_CHARACTERS = 2_000;

/** Where libraries write what they were given into their messages: the text that is not JSON, and a filter with the values in it. */
const QUOTATIONS: readonly [RegExp, string][] = [
  [/(?:\.{3})?".*"(?:\.{3})? is not valid JSON/s, 'the text is not valid JSON'],
  [/filter expression .*/s, 'filter expression'],
];

/**
 * The sentence of anything that was thrown, without its stack: for logs, for the operator, and for what is kept of a job. It is bounded,
 * and what `JSON.parse` and LanceDB quote is left out. What the database quotes is left out where its errors are made (`db/failed-statement.ts`).
 */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  const message = truncateText(error instanceof Error ? error.message : String(error), MAX_REASON_CHARACTERS);
  return QUOTATIONS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), message);
}

/** The reason of anything that was thrown, and where: what is logged of a fault of ours. */
export function describeErrorWithStack(error: unknown): string {
  if (!(error instanceof Error)) return describeError(error);
  const { stack = '', message } = error;
  // The stack begins with the message as it was when the error was made, which may hold anything.
  const start = stack.indexOf(message);
  const places = start === -1 ? '' : stack.slice(start + message.length);
  return `${error.name}: ${describeError(error)}${truncateText(places, MAX_REASON_CHARACTERS)}`;
}
