import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FileIdentity } from './encoder-protocol.ts';

/** Files whose hashes are kept; of more, those hashed last. */
const MOST_ENTRIES = 32;
/** Bytes read at a time. */
const CHUNK_BYTES = 1_048_576;

const KeptHashes = Type.Object({
  version: Type.Literal(1),
  entries: Type.Array(
    Type.Object({ file: Type.String(), bytes: Type.Number(), changedMs: Type.Number(), sha256: Type.String() }),
  ),
});

/** A file as it is now. */
export interface HashedFile extends FileIdentity {
  /** Hexadecimal. */
  sha256: string;
}

/**
 * The SHA-256 of a file, which for gigabytes takes seconds: it is kept in `keptIn`, and computed again when the file's
 * size or time of change is another one. Throws what the file system does.
 */
export async function hashFile(file: string, keptIn: string | undefined, signal: AbortSignal): Promise<HashedFile> {
  const { size: bytes, mtimeMs: changedMs } = await stat(file);
  const entries = keptIn === undefined ? [] : await readEntries(keptIn);
  const kept = entries.find((e) => e.file === file && e.bytes === bytes && e.changedMs === changedMs);
  if (kept !== undefined) return { bytes, changedMs, sha256: kept.sha256 };
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES, signal })) hash.update(chunk);
  const sha256 = hash.digest('hex');
  if (keptIn !== undefined) {
    const others = entries.filter((entry) => entry.file !== file);
    const text = JSON.stringify({
      version: 1,
      entries: [...others, { file, bytes, changedMs, sha256 }].slice(-MOST_ENTRIES),
    });
    await mkdir(dirname(keptIn), { recursive: true });
    // Renamed into its place whole, so that nobody reads half of it.
    await writeFile(`${keptIn}.${process.pid}`, text);
    await rename(`${keptIn}.${process.pid}`, keptIn);
  }
  return { bytes, changedMs, sha256 };
}

async function readEntries(path: string): Promise<(HashedFile & { file: string })[]> {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Value.Check(KeptHashes, kept) ? kept.entries : [];
  } catch {
    // There is no such file yet, or it holds no JSON: hashed again, and written anew.
    return [];
  }
}
