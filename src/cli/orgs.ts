import { loadConfig } from '../config.ts';
import type { CommandSpec } from './command-spec.ts';
import { JSON_OPTION, print, table, when } from './output.ts';
import { withState } from './with-state.ts';
import { WrongCall } from './wrong-call.ts';

/** `quire orgs create`. */
export const orgsCreate: CommandSpec = {
  summary: 'Create an organization: what owns keys and data, and sees nothing of another.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const name = input.words[0] ?? '';
    if (!/^[\w][\w .-]{0,63}$/.test(name))
      throw new WrongCall('A name has 1 to 64 letters, digits, spaces, `.`, `_` or `-`.');
    const made = (await withState(loadConfig(), 'orgs create', { name })) as { id: string };
    print(input, made, () => `Created '${name}' (${made.id}). A key for it: quire keys create --org '${name}'`);
  },
};

/** `quire orgs list`. */
export const orgsList: CommandSpec = {
  summary: 'List the organizations.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const orgs = (await withState(loadConfig(), 'orgs list', {})) as { id: string; name: string; created_at: number }[];
    print(input, orgs, () =>
      table([['ID', 'NAME', 'CREATED'], ...orgs.map((org) => [org.id, org.name, when(org.created_at)])]),
    );
  },
};
