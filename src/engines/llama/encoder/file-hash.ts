import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Type } from 'typebox';
import { readJsonFile, writeJsonFile } from '../../../lib/json-file.ts';
import type { FileIdentity } from './encoder-protocol.ts';

/** Maximum number of cached hashes. The oldest are dropped. */
const MAX_ENTRIES = 32;
/** Bytes per read. */
const CHUNK_BYTES = 1_048_576;

const StoredHashes = Type.Object({
  version: Type.Literal(2),
  entries: Type.Array(
    Type.Object({ file: Type.String(), bytes: Type.Number(), modifiedMs: Type.Number(), sha256: Type.String() }),
  ),
});

/** A version of a file with its hash. */
export interface HashedFile extends FileIdentity {
  /** Hexadecimal. */
  sha256: string;
}

/**
 * Returns the SHA-256 of a file. Hashing gigabytes takes seconds, so the result is cached in `cacheFile` until the size
 * or the modification time of the file changes. Throws errors of reading the file.
 */
export async function hashFile(file: string, cacheFile: string | undefined, signal: AbortSignal): Promise<HashedFile> {
  const { size: bytes, mtimeMs: modifiedMs } = await stat(file);
  const entries = cacheFile === undefined ? [] : await readEntries(cacheFile);
  const cached = entries.find((e) => e.file === file && e.bytes === bytes && e.modifiedMs === modifiedMs);
  if (cached !== undefined) return { bytes, modifiedMs, sha256: cached.sha256 };
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES, signal })) hash.update(chunk);
  const sha256 = hash.digest('hex');
  if (cacheFile !== undefined) {
    const others = entries.filter((entry) => entry.file !== file);
    const stored = [...others, { file, bytes, modifiedMs, sha256 }].slice(-MAX_ENTRIES);
    // The hash is valid without the cache: on a full disk the file is hashed again next time.
    await storeEntries(cacheFile, stored).catch(() => undefined);
  }
  return { bytes, modifiedMs, sha256 };
}

async function storeEntries(path: string, entries: (HashedFile & { file: string })[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeJsonFile(path, { version: 2, entries });
}

/** A file that is missing or damaged has no entries: files are hashed again. */
async function readEntries(path: string): Promise<(HashedFile & { file: string })[]> {
  return (await readJsonFile(path, StoredHashes).catch(() => null))?.entries ?? [];
}
