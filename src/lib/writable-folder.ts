import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A store with less free space does not count as writable: four WAL segments of PostgreSQL (16 MiB each), which an embedded database may
 * have to create at any moment, and the first thing that fails.
 */
export const MIN_FREE_BYTES = 64 * 1024 * 1024;
/** One block: file systems with quotas or read-only mounts reject it. */
const PROBE_BYTES = 4096;
const PROBE_INTERVAL_MS = 1_000;
const MEGABYTE = 1_000_000;

/** Bytes that this process may still write to the disk of a folder, which exists. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** The last probe of each folder: `/readyz` needs no key, and must not be a way to keep a disk busy. */
const probes = new Map<string, { atMs: number; result: Promise<void> }>();

/**
 * Resolves when files can be written to the folder: there is space, and a small file can be created (0.2 ms, at most once a second).
 * Throws an Error with a sentence otherwise.
 */
export function requireWritable(folder: string): Promise<void> {
  const known = probes.get(folder);
  if (known !== undefined && performance.now() - known.atMs < PROBE_INTERVAL_MS) return known.result;
  const result = probeFolder(folder);
  probes.set(folder, { atMs: performance.now(), result });
  return result;
}

async function probeFolder(folder: string): Promise<void> {
  const free = await freeBytes(folder);
  if (free < MIN_FREE_BYTES) {
    throw new Error(`${describeFree(folder, free)}, and ${inMegabytes(MIN_FREE_BYTES)} MB are needed to write`);
  }
  const probe = join(folder, 'write-probe');
  const file = await open(probe, 'w', 0o600);
  try {
    await file.write(Buffer.alloc(PROBE_BYTES));
  } finally {
    await file.close();
    await rm(probe, { force: true });
  }
}

/** How much space a disk has, for operators. */
export function describeFree(folder: string, free: number): string {
  return `the disk of ${folder} has ${inMegabytes(free)} MB free`;
}

const inMegabytes = (bytes: number): number => Math.floor(bytes / MEGABYTE);
