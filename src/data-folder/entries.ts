/** File of the generated encryption key. Credentials encrypted with a lost key cannot be decrypted. */
export const SECRETS_KEY_FILE = 'secrets.key';

/** Names of all entries that Quire creates in its data folder. */
const NAMES: ReadonlySet<string> = new Set([
  'blobs',
  'calibration.json',
  // Entries of earlier versions.
  'db',
  'index',
  'model-bindings.json',
  'model-hashes.json',
  'models',
  'postgres',
  'prefix-cache',
  'quire-processes.sock',
  'quire.lock',
  'quire.sock',
  SECRETS_KEY_FILE,
  'tmp',
]);

/** Entries that only Quire creates. Other programs also create names such as `db` and `tmp`. */
export const TRACES: ReadonlySet<string> = new Set([
  'prefix-cache',
  'quire-processes.sock',
  'quire.lock',
  'quire.sock',
  SECRETS_KEY_FILE,
]);

/** Whether Quire creates an entry of this name in its data folder; `NAME.SUFFIX` is a temporary one of NAME. */
export function isQuireEntry(name: string): boolean {
  return NAMES.has(name) || NAMES.has(name.replace(/\.[^.]+(\.new)?$/, ''));
}
