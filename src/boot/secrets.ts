import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readOptionalFile } from '../lib/read-optional-file.ts';
import { createSecrets, type Secrets } from '../lib/secrets.ts';

const KEY_BYTES = 32;
const KEY = /^[0-9a-f]{64}$/;

/**
 * Encrypts stored credentials with `QUIRE_SECRETS_KEY`, or with a key that the first start generates in a private file.
 * When both exist, credentials encrypted with the file's key can still be decrypted. Throws an `OperatorError` for a
 * file without a valid key.
 */
export async function openSecrets(config: Pick<Config, 'dataDir' | 'secretsKey'>): Promise<Secrets> {
  const path = join(config.dataDir, SECRETS_KEY_FILE);
  const kept = await readKey(path);
  if (config.secretsKey !== null) return createSecrets(config.secretsKey, kept === null ? [] : [kept]);
  return createSecrets(kept ?? (await makeKey(config.dataDir, path)));
}

/** Returns an operator warning about the location of the encryption key, or null. */
export function secretsWarning(config: Pick<Config, 'dataDir' | 'secretsKey'>): string | null {
  if (config.secretsKey !== null) return null;
  const path = join(config.dataDir, SECRETS_KEY_FILE);
  return `Credentials of data sources are sealed with the key in ${path}: who copies the folder can open them. Set QUIRE_SECRETS_KEY, and keep it elsewhere.`;
}

async function readKey(path: string): Promise<string | null> {
  const text = await readOptionalFile(path);
  if (text === null) return null;
  if (KEY.test(text.trim())) return text.trim();
  throw new OperatorError(
    `${path} holds no key. Put the file back from a backup, or move it away: a new key is made then.`,
  );
}

/** Creates the file atomically. When several processes create it concurrently, all use the first one. */
async function makeKey(folder: string, path: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const key = randomBytes(KEY_BYTES).toString('hex');
  const temporary = `${path}.${process.pid}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(`${key}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(temporary, path);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readKey(path)) ?? key;
  } finally {
    await rm(temporary, { force: true });
  }
}
