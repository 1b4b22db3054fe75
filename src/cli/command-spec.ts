/** One option of a command. */
export interface OptionSpec {
  /** `text` options take a value; `flag` options do not. */
  type: 'text' | 'flag';
  help: string;
  required?: boolean;
}

/** Declaration of a command. */
export interface CommandSpec {
  summary: string;
  /** Positional arguments, in order; all are required. */
  words: readonly string[];
  options: Readonly<Record<string, OptionSpec>>;
  action(input: CommandInput): Promise<void>;
}

/** Parsed arguments of a command. */
export interface CommandInput {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  flags: ReadonlySet<string>;
}

/** Invalid arguments of a command. The process prints the help of the command and exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
