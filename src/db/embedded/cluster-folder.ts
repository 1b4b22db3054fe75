import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolder, listFolder } from '../../lib/create-folder.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { describeFree, freeBytes, MIN_FREE_BYTES } from '../../lib/writable-folder.ts';
import { run } from './launch.ts';
import { MAJOR_VERSION, programPath } from './runtime.ts';
import type { ServerChoice } from './server-user.ts';
import { initdbArguments } from './settings.ts';

/** Required entries. Without one of them, PostgreSQL does not start, or `initdb` overwrites the others. */
const ESSENTIAL = ['PG_VERSION', 'global/pg_control', 'base', 'pg_wal', 'pg_xact', 'postgresql.conf', 'pg_hba.conf'];
const PRIVATE = 0o700;
const VERSION = /^(\d+)\s*$/;

/** A new cluster takes 40 MB. A service that starts with less than `MIN_FREE_BYTES` is not ready. */
const NEW_CLUSTER_BYTES = 64 * 1024 * 1024 + MIN_FREE_BYTES;

/** The next steps for a damaged folder. */
export const waysOut = (folder: string): string =>
  `Restore the whole data folder from a backup. To begin without the data instead, move ${dirname(folder)} away, or set QUIRE_DATA_DIR to another folder.`;

/**
 * Whether the folder contains a database cluster; false when the folder does not exist or is empty. Throws an
 * `OperatorError` for other content and for a cluster of another major version: existing data is never replaced by a
 * new database.
 */
export async function holdsDatabase(folder: string): Promise<boolean> {
  const names = await listFolder(folder);
  if (names.every((name) => name === 'lost+found')) return false;
  const missing: string[] = [];
  for (const name of ESSENTIAL) if (!(await exists(join(folder, name)))) missing.push(name);
  if (missing.length > 0) throw damaged(folder, `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  const major = VERSION.exec(await readFile(join(folder, 'PG_VERSION'), 'latin1'))?.[1];
  if (major === undefined) throw damaged(folder, 'PG_VERSION names no version');
  if (Number(major) !== MAJOR_VERSION) throw otherVersion(folder, major);
  return true;
}

function otherVersion(folder: string, major: string): OperatorError {
  return new OperatorError(
    `The embedded database in ${folder} was created by PostgreSQL ${major}, and this version of Quire runs PostgreSQL ${MAJOR_VERSION}. Start the version of Quire that created it and dump the database with pg_dumpall, or convert a copy of the folder with pg_upgrade. Nothing was changed.`,
  );
}

/**
 * Throws an `OperatorError` when the data folder holds the database of Quire 0.1 or 0.2, which PostgreSQL cannot read:
 * PGlite wrote the layout of a 32-bit machine.
 */
export async function requireNoPglite(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'db');
  if (!(await exists(join(folder, 'PG_VERSION')))) return;
  throw new OperatorError(
    `The data folder ${dataDir} holds a database of PGlite (db), which Quire 0.1 used. It can be neither opened nor moved: PGlite writes the files of a 32-bit machine, which PostgreSQL does not read. To get the documents, start Quire 0.1 on the folder and download the files (GET /v1/files, GET /v1/files/{file_id}/content); then set QUIRE_DATA_DIR to a new folder and ingest them again. Keys, users and usage cannot be taken over. Nothing was changed.`,
  );
}

/** Throws an `OperatorError` if the disk has no space for a new cluster. `parent`: the existing folder around it. */
export async function requireSpaceForDatabase(parent: string): Promise<void> {
  const free = await freeBytes(parent);
  if (free >= NEW_CLUSTER_BYTES) return;
  throw new OperatorError(
    `A new database needs ${Math.ceil(NEW_CLUSTER_BYTES / 1_000_000)} MB, and ${describeFree(parent, free)}. Free some, or set QUIRE_DATA_DIR to a folder on another disk.`,
  );
}

/** Creates a cluster with `initdb` atomically. The next attempt removes an interrupted one. */
export async function createCluster(folder: string, { user, runtime }: ServerChoice): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await requireSpaceForDatabase(dirname(folder));
  await createFolder(folder, async (temporary) => {
    await mkdir(temporary, { mode: 0o700 });
    takeOwnership(temporary, user.ownerUid);
    const result = await run(user, temporary, [
      programPath(runtime, 'initdb'),
      ...initdbArguments(user.dataPath(temporary)),
    ]);
    if (result.code === 0) return;
    throw new OperatorError(
      `The embedded database in ${folder} cannot be created: ${result.stderr || `initdb exited with code ${result.code}`}`,
    );
  });
}

/**
 * Prepares an existing cluster, such as a restored backup, for PostgreSQL: private to its owner, and owned by the
 * server's user.
 */
export function secureCluster(folder: string, uid: number | null): void {
  takeOwnership(folder, uid);
  chmodSync(folder, PRIVATE);
}

/**
 * Changes the owner of the folder and its content to the server's user. Owners differ when root has restored a backup,
 * and when a machine allows or forbids user namespaces. The folder itself is changed last, so that the next start
 * completes an interrupted change. Throws an `OperatorError` when that is not permitted.
 */
export function takeOwnership(folder: string, uid: number | null): void {
  if (uid === null || lstatSync(folder).uid === uid) return;
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      lchownSync(join(entry.parentPath, entry.name), uid, uid);
    }
    chownSync(folder, uid, uid);
  } catch (error) {
    throw new OperatorError(
      `The embedded database in ${folder} belongs to another user, and PostgreSQL only runs as the owner: ${describeError(error)}. Give the folder and everything in it to user ${uid} (chown -R).`,
    );
  }
}

/** Identifies a cluster: the first eight bytes of `pg_control`, random since `initdb`. */
export async function readSystemIdentifier(folder: string): Promise<string> {
  const control = await readFile(join(folder, 'global/pg_control'));
  return new BigUint64Array(control.buffer.slice(control.byteOffset, control.byteOffset + 8))[0]?.toString() ?? '';
}

function damaged(folder: string, why: string): OperatorError {
  return new OperatorError(`The embedded database in ${folder} is damaged: ${why}. ${waysOut(folder)}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
