import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOCKET_PORT } from './settings.ts';

/** Kernels store a socket path in 108 bytes (Linux) or 104 (macOS), the last a zero. */
const MAX_PATH_BYTES = 103;
/** Used when the user's temporary folder has a long path, as on macOS. */
const SHORT_TEMPORARY = '/tmp';

/** Name of the socket in the database folder. */
export const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;

/** A path to the database folder through which its socket can be reached. */
export interface SocketFolder {
  path: string;
  /** Removes the link, if one was created. May be called twice. */
  remove(): void;
}

const fits = (folder: string): boolean => Buffer.byteLength(join(folder, SOCKET_NAME)) <= MAX_PATH_BYTES;

/**
 * Returns the database folder itself when the path of its socket is short enough; otherwise a link to it in a new
 * private folder. The server is not affected: its socket path is relative to its working directory.
 */
export function openSocketFolder(folder: string, temporary: string = tmpdir()): SocketFolder {
  if (fits(folder)) return { path: folder, remove: () => {} };
  // `mkdtemp` creates folders with mode 0700.
  const parents = [temporary, SHORT_TEMPORARY].map((parent) => join(parent, 'quire-socket-'));
  const prefix = parents.find((each) => fits(join(`${each}XXXXXX`, 'db'))) ?? join(SHORT_TEMPORARY, 'quire-socket-');
  const parent = mkdtempSync(prefix);
  const path = join(parent, 'db');
  symlinkSync(folder, path);
  return { path, remove: () => rmSync(parent, { recursive: true, force: true }) };
}
