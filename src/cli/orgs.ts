import { loadConfig } from '../config.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatTable, formatTime, JSON_OPTION, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** `quire orgs create`. */
export const orgsCreateCommand: CommandSpec = {
  summary: 'Create an organization (tenant). Organizations own API keys and data, isolated from each other.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const name = input.words[0] ?? '';
    if (!/^[\w][\w .-]{0,63}$/.test(name))
      throw new UsageError('A name has 1 to 64 letters, digits, spaces, `.`, `_` or `-`.');
    const created = (await runStateCommand(loadConfig(), 'orgs create', { name })) as { id: string };
    printResult(
      input,
      created,
      () => `Created '${name}' (${created.id}). Create a key for it: quire keys create --org '${name}'`,
    );
  },
};

/** `quire orgs list`. */
export const orgsListCommand: CommandSpec = {
  summary: 'List the organizations.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const orgs = (await runStateCommand(loadConfig(), 'orgs list', {})) as {
      id: string;
      name: string;
      created_at: number;
    }[];
    printResult(input, orgs, () =>
      formatTable([['ID', 'NAME', 'CREATED'], ...orgs.map((org) => [org.id, org.name, formatTime(org.created_at)])]),
    );
  },
};
