/**
 * Why the process cannot start or a command cannot be carried out: one sentence that says what to do.
 * `main.ts` prints it without a stack and exits with 1.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The sentence of anything that was thrown, without its stack. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
