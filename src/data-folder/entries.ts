/** Everything that Quire creates in its data folder. */
const NAMES: ReadonlySet<string> = new Set([
  'blobs',
  'calibration.json',
  // Of earlier versions.
  'db',
  'index',
  'model-bindings.json',
  'model-hashes.json',
  'models',
  'postgres',
  'prefix-cache',
  'quire.lock',
  'quire.sock',
  'secrets.key',
  'tmp',
]);

/** Entries that only Quire creates; names such as `db` and `tmp` are found in folders of other programs, too. */
export const TRACES: ReadonlySet<string> = new Set(['prefix-cache', 'quire.lock', 'quire.sock', 'secrets.key']);

/** Whether Quire creates an entry of this name in its data folder; `NAME.SUFFIX` is a temporary one of NAME. */
export function isQuireEntry(name: string): boolean {
  return NAMES.has(name) || NAMES.has(name.replace(/\.[^.]+(\.new)?$/, ''));
}
