import { Command } from 'commander';
import { commandWord } from '../config/client-config.ts';

/** Invalid arguments of a command. `main.ts` prints the message on one line and exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** Command whose help explains the arguments, such as `quire keys create`. */
  readonly command: string;

  constructor(message: string, command: string) {
    super(message);
    this.command = command;
  }
}

/**
 * Commander's `Command` with `quire`'s conventions: throws errors, prints help by `console`, examples after options.
 */
export class CliCommand extends Command {
  constructor(name?: string) {
    super(name);
    this.helpOption('-h, --help', 'Show this help')
      .helpCommand(false)
      .exitOverride()
      .configureHelp({
        commandUsage: (command) =>
          [commandPath(command), ...(isGroup(command) ? ['<command>'] : argumentTerms(command)), '[options]'].join(' '),
        // Commands without a summary are listed with their description, a sentence.
        subcommandDescription: (command) => (command.summary() || command.description()).replace(/\.$/, ''),
        subcommandTerm: (command) => [command.name(), ...argumentTerms(command)].join(' '),
      })
      .addHelpText('after', ({ command }) => learnMore(command))
      .configureOutput({
        writeOut: (text) => console.log(nameCommand(text.trimEnd())),
        writeErr: (text) => console.error(nameCommand(text.trimEnd())),
      });
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Throws a `UsageError`. Commander calls this for every argument error. */
  override error(message: string): never {
    // Commander writes 'error: ...' and a suggestion on a line of its own.
    const sentence = message.replace(/^error: /, '').replace(/\n\((.*)\)$/s, '. $1');
    throw new UsageError(sentence.charAt(0).toUpperCase() + sentence.slice(1), commandPath(this));
  }

  /** Adds the `--json` option of commands that print a result. */
  jsonOption(help = 'Print one JSON document on stdout'): this {
    return this.option('--json', help);
  }

  /** Adds examples to the help. Each is the words after `quire`. */
  examples(...lines: readonly string[]): this {
    return this.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ quire ${line}`).join('\n')}`);
  }
}

/** Writes `quire COMMAND` in help and hints as it can be typed: `npx quire COMMAND` after a call through npx. */
export function nameCommand(text: string, word = commandWord()): string {
  return text.replace(/(?<![\w./-]|npx )quire (?=[a-z<])/g, `${word} `);
}

/** Rejects arguments and option values that are empty or whitespace, such as an unset shell variable. */
export function rejectBlankValues(command: Command): void {
  for (const [at, argument] of command.registeredArguments.entries()) {
    const value: unknown = command.processedArgs[at];
    const text = Array.isArray(value) && value.length > 0 ? value.join('') : value;
    if (isBlank(text)) command.error(`'${argument.name()}' must not be empty`);
  }
  for (const option of command.options) {
    if (isBlank(command.getOptionValue(option.attributeName()))) command.error(`${option.long} must not be empty`);
  }
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}

const isGroup = (command: Command): boolean => command.commands.length > 0;

/** The last line of the help of a group. */
function learnMore(command: Command): string {
  // The program has a footer of its own.
  if (!isGroup(command) || command.parent === null) return '';
  return `\nUse '${commandPath(command)} <command> --help' for the options and examples of a command. Manual: docs/use/cli.md`;
}

function argumentTerms({ registeredArguments }: Command): string[] {
  return registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
}
