import type { OrganizationCredits } from '../admin/credits/schema.ts';
import type { DeletedOrganization, Organization } from '../admin/organizations/schema.ts';
import { withAdminApi } from './admin-client.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatCredits, formatTable, formatTime, JSON_OPTION, parseCredits, printResult } from './output.ts';

const PATH = '/v1/admin/organizations';
const UNLIMITED = 'unlimited';

/** `quire orgs create`. */
export const orgsCreateCommand: CommandSpec = {
  summary: 'Create an organization (tenant). Organizations own API keys and data, isolated from each other.',
  words: ['name'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const name = input.words[0] ?? '';
    if (!/^[\w][\w .-]{0,63}$/.test(name))
      throw new UsageError('A name has 1 to 64 letters, digits, spaces, `.`, `_` or `-`.');
    const created = await withAdminApi((api) => api.send<Organization>({ method: 'POST', path: PATH, body: { name } }));
    printResult(
      input,
      created,
      () => `Created '${name}' (${created.id}). Create a key for it: quire keys create --org '${name}'`,
    );
  },
};

/** `quire orgs list`. */
export const orgsListCommand: CommandSpec = {
  summary: 'List the organizations with their credits.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const orgs = await withAdminApi((api) => api.list<Organization>(PATH));
    const rows = orgs.map((org) => [org.id, org.name, formatTime(org.created_at), formatBalance(org.balance_micros)]);
    printResult(input, orgs, () => formatTable([['ID', 'NAME', 'CREATED', 'CREDITS'], ...rows]));
  },
};

/** `quire orgs delete`. */
export const orgsDeleteCommand: CommandSpec = {
  summary: 'Delete an organization with its keys and data. Usage, credit transactions and the audit log stay.',
  words: ['name'],
  options: { yes: { type: 'flag', help: 'Delete without asking. Required: this cannot be undone.' }, ...JSON_OPTION },
  action: async (input) => {
    const [name = ''] = input.words;
    if (!input.flags.has('yes'))
      throw new UsageError(`This deletes all data of '${name}' for good. Repeat it with --yes.`);
    const deleted = await withAdminApi(async (api) =>
      api.send<DeletedOrganization>({ method: 'DELETE', path: `${PATH}/${await api.findOrganizationId(name)}` }),
    );
    printResult(
      input,
      deleted,
      () => `Deleted '${name}' (${deleted.id}). The service deletes its data within seconds.`,
    );
  },
};

/** `quire orgs credit`. */
export const orgsCreditCommand: CommandSpec = {
  summary: 'Show or change the credits of an organization.',
  words: ['name'],
  options: {
    set: { type: 'text', help: `Set the balance to so many credits, such as 100 or 0.5, or to '${UNLIMITED}'.` },
    add: { type: 'text', help: 'Add so many credits; -5 subtracts five (write --add=-5).' },
    note: { type: 'text', help: 'Reason, stored with the transaction.' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { set, add, note } = input.options;
    if (set !== undefined && add !== undefined) throw new UsageError('Use --set or --add, not both.');
    const noted = note === undefined ? {} : { note };
    const balance_micros = set === undefined || set === UNLIMITED ? null : parseCredits(set);
    const amount_micros = add === undefined ? 0 : parseCredits(add, { isSigned: true });
    const credits = await withAdminApi(async (api) => {
      const path = `/v1/admin/credits/${await api.findOrganizationId(input.words[0] ?? '')}`;
      if (set !== undefined)
        return api.send<OrganizationCredits>({ method: 'PUT', path, body: { balance_micros, ...noted } });
      if (add !== undefined) {
        await api.send({ method: 'POST', path: `${path}/transactions`, body: { amount_micros, ...noted } });
      }
      return api.send<OrganizationCredits>({ method: 'GET', path });
    });
    printResult(input, credits, () => `${input.words[0]}: ${formatBalance(credits.balance_micros)} credits`);
  },
};

const formatBalance = (micros: number | null): string => (micros === null ? UNLIMITED : formatCredits(micros));
