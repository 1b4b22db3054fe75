import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Minimum free space of a writable store: four WAL segments of PostgreSQL (16 MiB each), which the embedded database
 * can allocate at any moment.
 */
export const MIN_FREE_BYTES = 64 * 1024 * 1024;
/** Size of the probe: one block, which quotas and read-only mounts reject. */
const PROBE_BYTES = 4096;
const PROBE_INTERVAL_MS = 1_000;
const MEGABYTE = 1_000_000;

/** Returns the free bytes on the disk of an existing folder, for this process. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Cached probe of each folder: `/readyz` needs no key, so its disk writes are limited. */
const probes = new Map<string, { atMs: number; result: Promise<void> }>();

/**
 * Resolves when the folder is writable: enough free space, and a small file can be created (0.2 ms, at most once per
 * second). Throws an Error with a message for operators otherwise.
 */
export function requireWritable(folder: string): Promise<void> {
  const cached = probes.get(folder);
  if (cached !== undefined && performance.now() - cached.atMs < PROBE_INTERVAL_MS) return cached.result;
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

/** Describes the free space of a disk for operators. */
export function describeFree(folder: string, free: number): string {
  return `the disk of ${folder} has ${inMegabytes(free)} MB free`;
}

const inMegabytes = (bytes: number): number => Math.floor(bytes / MEGABYTE);
