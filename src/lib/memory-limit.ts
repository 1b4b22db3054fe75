import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join, posix } from 'node:path';

/** Memory limit of this process and its children together. */
export interface MemoryLimit {
  bytes: number;
  /** Origin of the limit for operators: a cgroup file, or `the memory of this machine`. */
  source: string;
}

/** Inputs of `readMemoryLimit`, replaced by tests. */
export interface MemoryLimitSources {
  /** Parent folder of `proc` and `sys`. */
  root: string;
  machineBytes: number;
  /** Limit reported by libuv, which reads only the process's own cgroup; 0: none. */
  constrainedBytes: number;
}

/**
 * Returns the smallest of the machine's memory and the limits of the process's cgroup and its ancestors (version 2:
 * `memory.max`, version 1: `memory.limit_in_bytes`). Never throws.
 */
export function readMemoryLimit({
  root = '/',
  machineBytes = totalmem(),
  constrainedBytes = process.constrainedMemory(),
}: Partial<MemoryLimitSources> = {}): MemoryLimit {
  let limit: MemoryLimit = { bytes: machineBytes, source: 'the memory of this machine' };
  if (constrainedBytes > 0 && constrainedBytes < limit.bytes) {
    limit = { bytes: constrainedBytes, source: 'the limit of the cgroup' };
  }
  for (const file of limitFiles(readText(join(root, 'proc/self/cgroup')) ?? '')) {
    const text = readText(join(root, file))?.trim() ?? '';
    // No limit: `max` in version 2, a number near 2^63 in version 1.
    const bytes = /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
    if (bytes <= limit.bytes && bytes < machineBytes) limit = { bytes, source: file };
  }
  return limit;
}

/** Lists the limit files of the cgroups in `/proc/self/cgroup`, the own cgroup first. */
function limitFiles(cgroups: string): string[] {
  return cgroups.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === '') {
      // In hybrid mode, version 2 is mounted at `unified`.
      return [...ancestors(path, '/sys/fs/cgroup'), ...ancestors(path, '/sys/fs/cgroup/unified')].map(
        (folder) => `${folder}/memory.max`,
      );
    }
    if (!controllers?.split(',').includes('memory')) return [];
    return ancestors(path, '/sys/fs/cgroup/memory').map((folder) => `${folder}/memory.limit_in_bytes`);
  });
}

/** Lists the folders of a cgroup and its ancestors. */
function ancestors(path: string, mount: string): string[] {
  const folders: string[] = [];
  for (let at = posix.normalize(path); ; at = posix.dirname(at)) {
    folders.push(posix.join(mount, at).replace(/\/$/, ''));
    if (at === '/') return folders;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
