import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ask } from './ask.ts';
import type { CommandInput, CommandSpec, OptionHelp } from './command-spec.ts';
import { doctor } from './doctor.ts';
import { ingest } from './ingest.ts';
import { keysCreate, keysList, keysRevoke } from './keys.ts';
import { migrate } from './migrate.ts';
import { modelsList } from './models.ts';
import { modelsPull } from './models-pull.ts';
import { modelsRemove, modelsUse } from './models-use.ts';
import { orgsCreate, orgsList } from './orgs.ts';
import { serve } from './serve.ts';
import { work } from './work.ts';
import { WrongCall } from './wrong-call.ts';

// Their modules are light: what a command runs is loaded when it runs.
const SPECS: Readonly<Record<string, CommandSpec>> = {
  serve,
  worker: work,
  doctor,
  'keys create': keysCreate,
  'keys list': keysList,
  'keys revoke': keysRevoke,
  'orgs create': orgsCreate,
  'orgs list': orgsList,
  'models list': modelsList,
  'models pull': modelsPull,
  'models use': modelsUse,
  'models remove': modelsRemove,
  'db migrate': migrate,
  ingest,
  ask,
};

/** A command that can be run with the words of its call. */
export interface Command extends CommandSpec {
  run(args: readonly string[]): Promise<void>;
}

/** Every command of `quire`, by name. */
export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  Object.entries(SPECS).map(([name, spec]) => [name, { ...spec, run: (args) => spec.action(takeApart(spec, args)) }]),
);

function takeApart(spec: CommandSpec, args: readonly string[]): CommandInput {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(spec.options).map(([name, { type }]) => [name, { type: type === 'flag' ? 'boolean' : 'string' }]),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new WrongCall((error as Error).message.split('. ')[0] ?? 'wrong options');
  }
  if (parsed.positionals.length !== spec.words.length) {
    const wanted = spec.words.length === 0 ? 'no words' : spec.words.map((word) => word.toUpperCase()).join(' ');
    throw new WrongCall(`This command takes ${wanted}, and got ${parsed.positionals.length} word(s).`);
  }
  for (const [at, word] of spec.words.entries()) {
    if (isBlank(parsed.positionals[at])) throw new WrongCall(`${word.toUpperCase()} must not be empty.`);
  }
  for (const [name, { required }] of Object.entries(spec.options)) {
    if (required && parsed.values[name] === undefined) throw new WrongCall(`--${name} is required.`);
    if (isBlank(parsed.values[name])) throw new WrongCall(`--${name} must not be empty.`);
  }
  const entries = Object.entries(parsed.values);
  return {
    words: parsed.positionals,
    options: Object.fromEntries(entries.filter(([, value]) => typeof value === 'string')) as Record<string, string>,
    flags: new Set(entries.filter(([, value]) => value === true).map(([name]) => name)),
  };
}

/** Such as a variable of the shell that is not set. */
const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

/** The `--help` of one command. */
export function commandHelp(name: string, command: CommandSpec): string {
  const words = command.words.map((word) => ` ${word.toUpperCase()}`).join('');
  const options = Object.entries({ ...command.options, help: { type: 'flag', help: 'Show this.' } as OptionHelp });
  const width = Math.max(...options.map(([option, { type }]) => option.length + (type === 'text' ? 6 : 0)));
  const lines = options.map(([option, { type, help, required }]) => {
    const left = `--${option}${type === 'text' ? ' VALUE' : ''}`.padEnd(width + 2);
    return `  ${left}  ${help}${required ? ' Required.' : ''}`;
  });
  return [`quire ${name}${words}`, '', command.summary, '', ...lines].join('\n');
}

/** The list of commands; with a first word only those that begin with it, if any do. */
export function generalHelp(first?: string): string {
  const all = Object.entries(COMMANDS);
  const some = all.filter(([name]) => name.split(' ')[0] === first);
  const shown = some.length > 0 ? some : all;
  const lines = shown.map(([name, { summary, words }]) => {
    const call = [name, ...words.map((word) => word.toUpperCase())].join(' ');
    return `  ${call.padEnd(24)} ${summary.split('. ')[0]?.replace(/\.$/, '')}`;
  });
  return ['quire COMMAND [--help]', '', ...lines].join('\n');
}
