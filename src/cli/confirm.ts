import { createInterface } from 'node:readline/promises';
import { OperatorError } from '../lib/operator-error.ts';

/**
 * Asks before a change, unless `--yes` is set. Throws an `OperatorError` for another answer, which says `refusal`, or
 * without a terminal.
 */
export async function requireConfirmation(
  isConfirmed: boolean | undefined,
  consequence: string,
  refusal = 'Nothing was deleted.',
): Promise<void> {
  if (isConfirmed) return;
  if (!process.stdin.isTTY) throw new OperatorError(`${consequence} Repeat it with --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${consequence} Continue? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError(refusal);
}
