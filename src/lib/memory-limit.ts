import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join, posix } from 'node:path';

/** The memory that this process and its children may use together. */
export interface MemoryLimit {
  bytes: number;
  /** What sets the limit, for the operator: the file of the cgroup, or `the memory of this machine`. */
  source: string;
}

/** Where a limit is looked for; other values are for tests. */
export interface MemoryLimitSources {
  /** The folder that holds `proc` and `sys`. */
  root: string;
  machineBytes: number;
  /** What libuv knows of a limit; 0: nothing. It looks at the process's own cgroup only, not at those above it. */
  constrainedBytes: number;
}

/**
 * The smallest of the machine's memory and the limits of the cgroups that this process is in, the process's own and all
 * above it (version 2: `memory.max`, version 1: `memory.limit_in_bytes`). Reads a few small files; never throws.
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
    // `max` in version 2, and a number near 2^63 in version 1, mean that there is no limit.
    const bytes = /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
    if (bytes <= limit.bytes && bytes < machineBytes) limit = { bytes, source: file };
  }
  return limit;
}

/** The files that hold the limits of the cgroups of `/proc/self/cgroup`, a container's own first. */
function limitFiles(cgroups: string): string[] {
  return cgroups.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === '') {
      // Beside controllers of version 1, version 2 is mounted at `unified`.
      return [...ancestors(path, '/sys/fs/cgroup'), ...ancestors(path, '/sys/fs/cgroup/unified')].map(
        (folder) => `${folder}/memory.max`,
      );
    }
    if (!controllers?.split(',').includes('memory')) return [];
    return ancestors(path, '/sys/fs/cgroup/memory').map((folder) => `${folder}/memory.limit_in_bytes`);
  });
}

/** The folder of a cgroup below the mount point and of all cgroups above it. */
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
