import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseJson } from '../lib/json.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readOptionalFile } from '../lib/read-optional-file.ts';
import { readVariable } from '../lib/secret-file.ts';
import { CLIENT_DEFAULTS, CONFIG_FILE } from './defaults.ts';

/** Settings of the commands that use a running service. */
export interface ClientConfig {
  /** `QUIRE_URL`, or of the login; null: the service is looked for on the data folder and at `host` and `port`. */
  url: string | null;
  /** `QUIRE_PUBLIC_URL`. */
  publicUrl: string | null;
  /** `QUIRE_API_KEY`, the content of the file `QUIRE_API_KEY_FILE`, or of the login. */
  apiKey: string | null;
  dataDir: string;
  host: string;
  port: number;
}

/**
 * Reads the settings of the client commands. Empty values count as unset. The complete configuration takes 100 ms to
 * load, so that it is loaded only when there is a configuration file to read.
 */
export async function loadClientConfig(
  environment: Record<string, string | undefined> = process.env,
): Promise<ClientConfig> {
  const { url, apiKey } = await readCredentials(environment);
  const port = environment['QUIRE_PORT'] || String(CLIENT_DEFAULTS.port);
  const hasFile = environment['QUIRE_CONFIG'] !== undefined || existsSync(resolve(CONFIG_FILE));
  if (hasFile || !/^\d{1,4}$|^[1-5]\d{4}$/.test(port)) {
    const { loadConfig } = await import('./config.ts');
    const config = loadConfig(environment);
    return { url, publicUrl: config.publicUrl, apiKey, dataDir: config.dataDir, host: config.host, port: config.port };
  }
  return {
    url,
    publicUrl: environment['QUIRE_PUBLIC_URL'] || null,
    apiKey,
    dataDir: resolve(environment['QUIRE_DATA_DIR'] || CLIENT_DEFAULTS.dataDir),
    host: environment['QUIRE_HOST'] || CLIENT_DEFAULTS.host,
    port: Number(port),
  };
}

/** Address of a service and an API key, which `quire login` stores. */
export interface Login {
  url: string;
  apiKey: string;
}

type Environment = Record<string, string | undefined>;

/**
 * The address and the key of client commands. The login is used only when neither is in the environment, so that its
 * key is never sent to another address.
 */
async function readCredentials(environment: Environment): Promise<{ url: string | null; apiKey: string | null }> {
  const url = environment['QUIRE_URL'] || null;
  const apiKey = readVariable(environment, 'QUIRE_API_KEY') || null;
  if (url !== null || apiKey !== null) return { url, apiKey };
  return (await readLogin(environment)) ?? { url, apiKey };
}

const loginPath = (environment: Environment): string =>
  join(environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config'), 'quire', 'login.json');

async function readLogin(environment: Environment): Promise<Login | null> {
  const path = loginPath(environment);
  const content = await readOptionalFile(path);
  if (content === null) return null;
  const login = parseJson(content) as Partial<Login> | null | undefined;
  if (typeof login?.url === 'string' && typeof login.apiKey === 'string')
    return { url: login.url, apiKey: login.apiKey };
  throw new OperatorError(`The stored login ${path} is damaged. Run 'quire login' again.`);
}

/** Stores a login with mode 0600, in place of an earlier one. Returns its path. */
export function storeLogin(login: Login, environment: Environment = process.env): string {
  const path = loginPath(environment);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // The mode of an existing file would stay.
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(login)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Deletes the stored login. Returns its path; null when there was none. */
export function deleteLogin(environment: Environment = process.env): string | null {
  const path = loginPath(environment);
  if (!existsSync(path)) return null;
  rmSync(path);
  return path;
}

/** How the command was called: `npx quire` through npx, otherwise `quire`. */
export const commandWord = (environment: Environment = process.env): string =>
  environment['npm_command'] === 'exec' ? 'npx quire' : 'quire';

/** The account that `quire migrate openai` reads: `OPENAI_API_KEY` (or its file) and `OPENAI_BASE_URL`. */
export function loadOpenAiAccount(environment: Record<string, string | undefined> = process.env): {
  apiKey: string | null;
  baseUrl: string;
} {
  return {
    apiKey: readVariable(environment, 'OPENAI_API_KEY') || null,
    baseUrl: environment['OPENAI_BASE_URL'] || 'https://api.openai.com/v1',
  };
}
