import { loadClientConfig } from '../config/client-config.ts';
import { isId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { PasswordReset, User } from '../users/schema.ts';
import { type AdminClient, withAdminApi } from './admin-client.ts';
import { CliCommand } from './command.ts';
import { sendCommand } from './command-client.ts';
import { formatTable, formatTime, printResult } from './output.ts';

const PATH = '/v1/admin/users';

/** `quire users`. */
export function usersCommand(): CliCommand {
  const users = new CliCommand('users').description('Manage the people who sign in to the console.');
  users.command('list').description('List the users of all organizations.').jsonOption().action(listUsers);
  users
    .command('reset-password')
    .summary('Print a link that sets a new password')
    .description(
      'Print a link that sets a new password of a user who has lost it. It works once, for a day, and ends the sessions of the user.',
    )
    .argument('<user>', 'Email or id')
    .jsonOption()
    .examples('users reset-password ada@example.com')
    .action(resetPassword);
  return users;
}

async function listUsers(options: { json?: boolean }): Promise<void> {
  const users = await withAdminApi((api) => api.list<User>(PATH), { isReadOnly: true });
  const rows = users.map((user) => [
    user.id,
    user.email,
    user.name,
    user.is_operator ? 'operator' : '',
    formatTime(user.created_at),
  ]);
  printResult(options, users, () => formatTable([['ID', 'EMAIL', 'NAME', 'RIGHTS', 'CREATED'], ...rows]));
}

async function resetPassword(emailOrId: string, options: { json?: boolean }): Promise<void> {
  const reset = await withAdminApi(async (api) => {
    const id = await findUserId(api, emailOrId);
    return api.send<PasswordReset>({ method: 'POST', path: `${PATH}/${id}/password-reset` });
  });
  const url = `${await consoleUrl()}/reset#${reset.token}`;
  const text = `This link sets a new password for ${emailOrId}. It works once, until ${formatTime(reset.expires_at)}:\n\n  ${url}`;
  printResult(options, { ...reset, url }, () => text);
}

async function findUserId(api: AdminClient, emailOrId: string): Promise<string> {
  if (isId('user', emailOrId)) return emailOrId;
  const email = emailOrId.toLowerCase();
  const matches = await api.list<User>(PATH, { search: email });
  const user = matches.find((each) => each.email === email);
  if (user !== undefined) return user.id;
  throw new OperatorError(`There is no user '${emailOrId}'. 'quire users list' lists the users.`);
}

/** Address of the console: `QUIRE_PUBLIC_URL`, the running service, or the configured host and port. */
async function consoleUrl(): Promise<string> {
  const { url, publicUrl, dataDir, host, port } = await loadClientConfig();
  if (publicUrl !== null || url !== null) return publicUrl ?? url ?? '';
  const reply = await sendCommand(dataDir, { command: 'service', input: {} });
  const service = reply?.result as { url?: string } | undefined;
  return service?.url ?? `http://${host}:${port}`;
}
