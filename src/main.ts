import { CommanderError } from 'commander';
import { nameCommand, UsageError } from './cli/command.ts';
import { Interrupted } from './cli/interrupted.ts';
import { runProgram } from './cli/program.ts';
import { describeErrorWithStack, OperatorError } from './lib/operator-error.ts';

/** Exit codes: 0 success, 1 failure (explained by one sentence on stderr), 2 usage error, 130 interrupted by Ctrl-C. */
const EXIT = { success: 0, failed: 1, usageError: 2, interrupted: 130 } as const;

/** Runs one command of `quire` and resolves with its exit code. `args` are the words after `quire`. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    await runProgram(args);
    return EXIT.success;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  // Commander has printed help or the version; help without a request (`quire keys`) is a usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usageError;
  if (error instanceof UsageError) {
    const sentence = error.message.replace(/[.?]?$/, (end) => end || '.');
    console.error(nameCommand(`${sentence} See '${error.command} --help'.`));
    return EXIT.usageError;
  }
  // Operator errors are explained by their sentence; the stack is only for defects of Quire.
  console.error(error instanceof OperatorError ? nameCommand(error.message) : describeErrorWithStack(error));
  return error instanceof Interrupted ? EXIT.interrupted : EXIT.failed;
}
