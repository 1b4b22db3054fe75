import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { askCommand } from './ask.ts';
import { batchRunCommand } from './batch-run.ts';
import { type CommandInput, type CommandSpec, type OptionSpec, UsageError } from './command-spec.ts';
import { migrateCommand } from './db-migrate.ts';
import { doctorCommand } from './doctor.ts';
import { indexCheckCommand, indexRebuildCommand } from './index.ts';
import { ingestCommand } from './ingest.ts';
import { keysCreateCommand, keysListCommand, keysRevokeCommand, keysRotateCommand } from './keys.ts';
import { modelsListCommand } from './models.ts';
import { modelsPullCommand } from './models-pull.ts';
import { modelsRemoveCommand, modelsUseCommand } from './models-use.ts';
import { orgsCreateCommand, orgsCreditCommand, orgsDeleteCommand, orgsListCommand } from './orgs.ts';
import { serveCommand, workerCommand } from './serve.ts';

// These modules import little: the code that a command runs is imported when it runs.
const SPECS: Readonly<Record<string, CommandSpec>> = {
  serve: serveCommand,
  worker: workerCommand,
  doctor: doctorCommand,
  'keys create': keysCreateCommand,
  'keys list': keysListCommand,
  'keys rotate': keysRotateCommand,
  'keys revoke': keysRevokeCommand,
  'orgs create': orgsCreateCommand,
  'orgs list': orgsListCommand,
  'orgs delete': orgsDeleteCommand,
  'orgs credit': orgsCreditCommand,
  'models list': modelsListCommand,
  'models pull': modelsPullCommand,
  'models use': modelsUseCommand,
  'models remove': modelsRemoveCommand,
  'db migrate': migrateCommand,
  'index check': indexCheckCommand,
  'index rebuild': indexRebuildCommand,
  ingest: ingestCommand,
  ask: askCommand,
  'batch run': batchRunCommand,
};

/** A command that parses its arguments before it runs. */
export interface Command extends CommandSpec {
  run(args: readonly string[]): Promise<void>;
}

/** Every command of `quire`, by name. */
export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  Object.entries(SPECS).map(([name, spec]) => [name, { ...spec, run: (args) => spec.action(parseInput(spec, args)) }]),
);

function parseInput(spec: CommandSpec, args: readonly string[]): CommandInput {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(spec.options).map(([name, { type }]) => [name, { type: type === 'flag' ? 'boolean' : 'string' }]),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'wrong options');
  }
  if (parsed.positionals.length !== spec.words.length) {
    const expected = spec.words.length === 0 ? 'no arguments' : spec.words.map((word) => word.toUpperCase()).join(' ');
    throw new UsageError(`This command takes ${expected}; it got ${parsed.positionals.length} argument(s).`);
  }
  for (const [at, word] of spec.words.entries()) {
    if (isBlank(parsed.positionals[at])) throw new UsageError(`${word.toUpperCase()} must not be empty.`);
  }
  for (const [name, { required }] of Object.entries(spec.options)) {
    if (required && parsed.values[name] === undefined) throw new UsageError(`--${name} is required.`);
    if (isBlank(parsed.values[name])) throw new UsageError(`--${name} must not be empty.`);
  }
  const entries = Object.entries(parsed.values);
  return {
    words: parsed.positionals,
    options: Object.fromEntries(entries.filter(([, value]) => typeof value === 'string')) as Record<string, string>,
    flags: new Set(entries.filter(([, value]) => value === true).map(([name]) => name)),
  };
}

/** Empty or whitespace, such as an unset shell variable. */
const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

/** Renders the `--help` text of one command. */
export function commandHelp(name: string, command: CommandSpec): string {
  const words = command.words.map((word) => ` ${word.toUpperCase()}`).join('');
  const options = Object.entries({ ...command.options, help: { type: 'flag', help: 'Show this help.' } as OptionSpec });
  const width = Math.max(...options.map(([option, { type }]) => option.length + (type === 'text' ? 6 : 0)));
  const lines = options.map(([option, { type, help, required }]) => {
    const left = `--${option}${type === 'text' ? ' VALUE' : ''}`.padEnd(width + 2);
    return `  ${left}  ${help}${required ? ' Required.' : ''}`;
  });
  return [`quire ${name}${words}`, '', command.summary, '', ...lines].join('\n');
}

/** Renders the list of commands, limited to the group of the first word if there is such a group. */
export function generalHelp(first?: string): string {
  const all = Object.entries(COMMANDS);
  const group = all.filter(([name]) => name.split(' ')[0] === first);
  const shown = group.length > 0 ? group : all;
  const lines = shown.map(([name, { summary, words }]) => {
    const usage = [name, ...words.map((word) => word.toUpperCase())].join(' ');
    return `  ${usage.padEnd(24)} ${summary.split('. ')[0]?.replace(/\.$/, '')}`;
  });
  return ['quire COMMAND [--help]', '', ...lines].join('\n');
}
