import { chmodSync, type Dirent, mkdirSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { isQuireEntry, TRACES } from './entries.ts';

const PRIVATE = 0o700;
const GROUP_AND_OTHERS = 0o077;
const STICKY = 0o1000;
/** Folders that other programs need, empty or not. */
const TEMPORARY: ReadonlySet<string> = new Set(['/tmp', '/var/tmp', '/dev/shm']);
const PROGRAM_FOLDER = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of the machine that are never a data folder of Quire. */
export interface Surroundings {
  home: string | null;
  temporary: string;
  program: string;
}

/**
 * Creates the data folder if it does not exist, and restricts it to the user of this process (mode 0700), which
 * protects all of its content. Returns whether other users had access before. Throws an `OperatorError` when the folder
 * belongs to another user, cannot be made private, or must stay accessible to others, such as `/`. May be called twice.
 */
export function prepareDataFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE });
    const path = realpathSync(folder);
    const stats = statSync(path);
    const why = explainSharing(path, stats, readdirSync(path, { withFileTypes: true }), surroundings());
    if (why !== null) throw notPrivate(folder, why);
    // Windows has neither owners nor permissions in this sense.
    if (process.platform === 'win32') return false;
    requireOwner(folder, stats);
    if ((stats.mode & GROUP_AND_OTHERS) === 0) return false;
    makePrivate(folder, path);
    return true;
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`The data folder ${folder} cannot be used: ${describeError(error)}`);
  }
}

/** Returns why this folder is shared with other uses; null when no sign of them is found. `path` is resolved. */
export function explainSharing(
  path: string,
  { mode }: Pick<Stats, 'mode'>,
  entries: readonly Pick<Dirent, 'name' | 'isDirectory'>[],
  { home, temporary, program }: Surroundings,
): string | null {
  if (dirname(path) === path) return 'it is the root of a file system';
  const isOurs = entries.some(({ name }) => TRACES.has(name));
  // The root of a tmpfs has the sticky bit, too.
  const isSticky = (mode & STICKY) !== 0 && !isOurs && entries.some(({ name }) => !isQuireEntry(name));
  if (path === temporary || TEMPORARY.has(path) || isSticky) return 'it is a folder of temporary files';
  if (path === program) return 'it is the folder of the program';
  const foreign = entries.filter(({ name }) => !name.startsWith('.') && name !== 'lost+found' && !isQuireEntry(name));
  // The home folder of a service account may be empty.
  if (path === home && (isOurs ? foreign : entries).length > 0) return 'it is a home folder';
  if (isOurs) return null;
  // Files prove nothing: operators copy models and `quire.yaml` into the folder before the first start.
  const folder = foreign.find((entry) => entry.isDirectory());
  return folder === undefined ? null : `it holds the folder '${folder.name}', which Quire does not know`;
}

function surroundings(): Surroundings {
  return { home: resolved(homedir), temporary: resolved(tmpdir) ?? tmpdir(), program: realpathSync(PROGRAM_FOLDER) };
}

/**
 * Null when the folder does not exist, or when the user has no home folder because the system does not list the user.
 */
function resolved(find: () => string): string | null {
  try {
    return realpathSync(find());
  } catch {
    return null;
  }
}

function notPrivate(folder: string, why: string): OperatorError {
  return new OperatorError(
    `The data folder ${folder} cannot be used: Quire closes its data folder to all other users and programs, and ${why}. Set QUIRE_DATA_DIR to a folder for Quire alone, such as ${join(folder, 'quire-data')}.`,
  );
}

function requireOwner(folder: string, { uid }: Stats): void {
  const user = process.geteuid?.();
  if (uid === user) return;
  throw new OperatorError(
    `The data folder ${folder} belongs to user ${uid}, and Quire runs as user ${user}. Start Quire as user ${uid}, give the folder and everything in it to user ${user} (chown -R), or set QUIRE_DATA_DIR to a folder that does not exist yet.`,
  );
}

function makePrivate(folder: string, path: string): void {
  chmodSync(path, PRIVATE);
  if ((statSync(path).mode & GROUP_AND_OTHERS) === 0) return;
  throw new OperatorError(
    `The data folder ${folder} is accessible to other users, and its file system keeps no permissions. Set QUIRE_DATA_DIR to a folder on a local disk.`,
  );
}
