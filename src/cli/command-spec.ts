/** One option of a command, as `--help` shows it. */
export interface OptionHelp {
  /** `text` options take a value. */
  type: 'text' | 'flag';
  help: string;
  required?: boolean;
}

/** What a command takes and does. */
export interface CommandSpec {
  summary: string;
  /** Words after the command's name, in order; all are required. */
  words: readonly string[];
  options: Readonly<Record<string, OptionHelp>>;
  action(input: CommandInput): Promise<void>;
}

/** The call of a command, taken apart. */
export interface CommandInput {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  flags: ReadonlySet<string>;
}
