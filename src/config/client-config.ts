import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readVariable } from '../lib/secret-file.ts';
import { CLIENT_DEFAULTS, CONFIG_FILE } from './defaults.ts';

/** Settings of the commands that use a running service. */
export interface ClientConfig {
  /** `QUIRE_URL`; null: the service is looked for on the data folder and at `host` and `port`. */
  url: string | null;
  /** `QUIRE_PUBLIC_URL`. */
  publicUrl: string | null;
  /** `QUIRE_API_KEY`, or the content of the file `QUIRE_API_KEY_FILE`. */
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
  const url = environment['QUIRE_URL'] || null;
  const apiKey = readVariable(environment, 'QUIRE_API_KEY') || null;
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
