import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { deleteLogin, loadClientConfig, storeLogin } from '../config/client-config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { createApiClient, findOrigin, parseBaseUrl } from './api-client.ts';
import { CliCommand } from './command.ts';

/** `quire login`. */
export function loginCommand(): CliCommand {
  return new CliCommand('login')
    .summary('Store the address and an API key for later commands')
    .description(
      'Store the address of a service and an API key, which is read from the terminal or the standard input. Later commands use both unless QUIRE_URL or QUIRE_API_KEY is set.',
    )
    .option('--url <address>', 'Address of the service (default: as for other commands)')
    .examples('login', 'login --url https://quire.example.com < key.txt')
    .action(login);
}

/** `quire logout`. */
export function logoutCommand(): CliCommand {
  return new CliCommand('logout').description('Delete the stored login.').action(() => {
    const path = deleteLogin();
    console.log(path === null ? 'There is no stored login.' : `Deleted ${path}.`);
  });
}

async function login({ url }: { url?: string }): Promise<void> {
  const origin = url === undefined ? await findOrigin(await loadClientConfig()) : parseBaseUrl(url);
  const apiKey = (process.stdin.isTTY ? await readHidden(`API key for ${origin}: `) : await text(process.stdin)).trim();
  if (apiKey === '') throw new OperatorError('No API key was given, so nothing was stored.');
  // Throws the error that names what to correct when the service or the key is not valid.
  await createApiClient(origin, apiKey).json('GET', '/v1/models');
  const path = storeLogin({ url: origin, apiKey });
  console.log(`Logged in to ${origin}. Stored in ${path}; 'quire logout' deletes it.`);
}

/** Asks for a secret, which the terminal does not show. */
async function readHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const muted = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: muted, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
