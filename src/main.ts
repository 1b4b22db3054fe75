import { UsageError } from './cli/command-spec.ts';
import { COMMANDS, commandHelp, generalHelp } from './cli/commands.ts';
import { Interrupted } from './cli/interrupted.ts';
import { describeErrorWithStack, OperatorError } from './lib/operator-error.ts';
import { VERSION } from './version.ts';

/** Exit codes: 0 success, 1 failure (explained by one sentence on stderr), 2 usage error, 130 interrupted by Ctrl-C. */
const EXIT = { success: 0, failed: 1, usageError: 2, interrupted: 130 } as const;

/** Runs one command of `quire` and resolves with its exit code. `args` are the words after `quire`. */
export async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--version') {
    console.log(VERSION);
    return EXIT.success;
  }
  const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find((words) => words in COMMANDS);
  const command = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || command === undefined) return printUsage(args);
  const commandArgs = args.slice(name.split(' ').length);
  if (commandArgs.includes('--help') || commandArgs.includes('-h')) {
    console.log(commandHelp(name, command));
    return EXIT.success;
  }
  try {
    await command.run(commandArgs);
    return EXIT.success;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${commandHelp(name, command)}`);
      return EXIT.usageError;
    }
    // Operator errors are explained by their sentence; the stack is only for defects of Quire.
    console.error(error instanceof OperatorError ? error.message : describeErrorWithStack(error));
    return error instanceof Interrupted ? EXIT.interrupted : EXIT.failed;
  }
}

function printUsage(args: readonly string[]): number {
  const isHelpRequested = args.length === 0 || args[0] === '--help' || args[0] === '-h' || args[0] === 'help';
  const group = generalHelp(isHelpRequested ? undefined : args[0]);
  if (isHelpRequested || args.includes('--help')) {
    console.log(group);
    return args.length === 0 ? EXIT.usageError : EXIT.success;
  }
  console.error(`There is no command '${args.slice(0, 2).join(' ')}'.\n\n${group}`);
  return EXIT.usageError;
}
