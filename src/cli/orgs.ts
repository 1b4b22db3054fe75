import { InvalidArgumentError, Option } from 'commander';
import type { DeletedOrganization, Organization } from '../accounts/organizations/schema.ts';
import type { OrganizationCredits } from '../billing/credits/schema.ts';
import { withAdminApi } from './admin-client.ts';
import { CliCommand } from './command.ts';
import { formatTable, formatTime, printResult } from './output.ts';
import { formatCredits, parseCredits, parseSignedCredits } from './parse-values.ts';

const PATH = '/v1/admin/organizations';
const UNLIMITED = 'unlimited';

/** `quire orgs`. */
export function orgsCommand(): CliCommand {
  const orgs = new CliCommand('orgs').description(
    'Manage organizations (tenants). They own API keys and data, isolated from each other.',
  );
  orgs
    .command('create')
    .description('Create an organization.')
    .argument('<name>', 'Name, unique in this service', parseName)
    .jsonOption()
    .examples('orgs create acme')
    .action(createOrganization);
  orgs.command('list').description('List the organizations with their credits.').jsonOption().action(listOrganizations);
  orgs
    .command('delete')
    .summary('Delete an organization with its keys and data')
    .description('Delete an organization with its keys and data. Usage, credit transactions and the audit log stay.')
    .argument('<organization>', 'Name or id')
    .option('--yes', 'Delete without asking. Required: this cannot be undone.')
    .jsonOption()
    .action(deleteOrganization);
  orgs
    .command('credit')
    .description('Show or change the credits of an organization.')
    .argument('<organization>', 'Name or id')
    .addOption(
      new Option('--set <credits>', `Set the balance, such as 100 or 0.5, or to '${UNLIMITED}'.`)
        .argParser((text) => (text === UNLIMITED ? null : parseCredits(text)))
        .conflicts('add'),
    )
    .option('--add <credits>', 'Add credits; -5 subtracts five', parseSignedCredits)
    .option('--note <text>', 'Reason, stored with the transaction')
    .jsonOption()
    .examples('orgs credit acme --add 100 --note "invoice 17"', 'orgs credit acme --set unlimited')
    .action(changeCredits);
  return orgs;
}

function parseName(name: string): string {
  if (/^[\w][\w .-]{0,63}$/.test(name)) return name;
  throw new InvalidArgumentError('A name has 1 to 64 letters, digits, spaces, `.`, `_` or `-`.');
}

async function createOrganization(name: string, options: { json?: boolean }): Promise<void> {
  const created = await withAdminApi((api) => api.send<Organization>({ method: 'POST', path: PATH, body: { name } }));
  const text = `Created '${name}' (${created.id}). Create a key for it: quire keys create --org '${name}'`;
  printResult(options, created, () => text);
}

async function listOrganizations(options: { json?: boolean }): Promise<void> {
  const orgs = await withAdminApi((api) => api.list<Organization>(PATH), { isReadOnly: true });
  const rows = orgs.map((org) => [org.id, org.name, formatTime(org.created_at), formatBalance(org.balance_micros)]);
  printResult(options, orgs, () => formatTable([['ID', 'NAME', 'CREATED', 'CREDITS'], ...rows]));
}

async function deleteOrganization(
  nameOrId: string,
  { yes, ...options }: { yes?: boolean; json?: boolean },
  command: CliCommand,
): Promise<void> {
  if (!yes) command.error(`This deletes all data of '${nameOrId}' for good. Repeat it with --yes`);
  const deleted = await withAdminApi(async (api) =>
    api.send<DeletedOrganization>({ method: 'DELETE', path: `${PATH}/${await api.findOrganizationId(nameOrId)}` }),
  );
  const text = `Deleted '${nameOrId}' (${deleted.id}). The service deletes its data within seconds.`;
  printResult(options, deleted, () => text);
}

interface CreditOptions {
  /** Micros; null: unlimited. */
  set?: number | null;
  /** Micros. */
  add?: number;
  note?: string;
  json?: boolean;
}

async function changeCredits(organization: string, { set, add, note, ...options }: CreditOptions): Promise<void> {
  const noted = note === undefined ? {} : { note };
  const credits = await withAdminApi(async (api) => {
    const path = `/v1/admin/credits/${await api.findOrganizationId(organization)}`;
    if (set !== undefined)
      return api.send<OrganizationCredits>({ method: 'PUT', path, body: { balance_micros: set, ...noted } });
    if (add !== undefined) {
      await api.send({ method: 'POST', path: `${path}/transactions`, body: { amount_micros: add, ...noted } });
    }
    return api.send<OrganizationCredits>({ method: 'GET', path });
  });
  printResult(options, credits, () => `${organization}: ${formatBalance(credits.balance_micros)} credits`);
}

const formatBalance = (micros: number | null): string => (micros === null ? UNLIMITED : formatCredits(micros));
