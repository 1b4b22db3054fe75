import { COMMANDS, commandHelp, generalHelp } from './cli/commands.ts';
import { Interrupted } from './cli/interrupted.ts';
import { WrongCall } from './cli/wrong-call.ts';
import { describeErrorWithStack, OperatorError } from './lib/operator-error.ts';
import { VERSION } from './version.ts';

/** Exit codes: 0 done, 1 could not be done (one sentence on stderr says why), 2 called wrongly, 130 stopped by Ctrl-C. */
const EXIT = { done: 0, failed: 1, wrongCall: 2, interrupted: 130 } as const;

/** Runs one command of `quire` and resolves with its exit code. `args` are the words after `quire`. */
export async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--version') {
    console.log(VERSION);
    return EXIT.done;
  }
  const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find((words) => words in COMMANDS);
  const command = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || command === undefined) return explain(args);
  const rest = args.slice(name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(commandHelp(name, command));
    return EXIT.done;
  }
  try {
    await command.run(rest);
    return EXIT.done;
  } catch (error) {
    if (error instanceof WrongCall) {
      console.error(`${error.message}\n\n${commandHelp(name, command)}`);
      return EXIT.wrongCall;
    }
    // A sentence for what the operator can mend; the stack only for what is ours to mend.
    console.error(error instanceof OperatorError ? error.message : describeErrorWithStack(error));
    return error instanceof Interrupted ? EXIT.interrupted : EXIT.failed;
  }
}

function explain(args: readonly string[]): number {
  const isAsked = args.length === 0 || args[0] === '--help' || args[0] === '-h' || args[0] === 'help';
  const group = generalHelp(isAsked ? undefined : args[0]);
  if (isAsked || args.includes('--help')) {
    console.log(group);
    return args.length === 0 ? EXIT.wrongCall : EXIT.done;
  }
  console.error(`There is no command '${args.slice(0, 2).join(' ')}'.\n\n${group}`);
  return EXIT.wrongCall;
}
