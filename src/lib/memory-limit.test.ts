import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readMemoryLimit } from './memory-limit.ts';

const MB = 2 ** 20;
const UNLIMITED_V1 = '9223372036854771712';

describe('readMemoryLimit', () => {
  const folders: string[] = [];
  after(() => folders.forEach((folder) => void rmSync(folder, { recursive: true })));

  /** Returns the limit in MB and its source on a machine of 16,000 MB with these files. */
  function readLimit(files: Record<string, string>, constrainedMb = 0): [megabytes: number, source: string] {
    const root = mkdtempSync(join(tmpdir(), 'quire-cgroup-'));
    folders.push(root);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), `${text}\n`);
    }
    const { bytes, source } = readMemoryLimit({
      root,
      machineBytes: 16_000 * MB,
      constrainedBytes: constrainedMb * MB,
    });
    return [bytes / MB, source];
  }

  it('is the memory of the machine without a cgroup limit', () => {
    const machine = [16_000, 'the memory of this machine'];
    assert.deepEqual(readLimit({}), machine);
    assert.deepEqual(readLimit({ 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/memory.max': 'max' }), machine);
    const v1 = { 'proc/self/cgroup': '4:memory:/', 'sys/fs/cgroup/memory/memory.limit_in_bytes': UNLIMITED_V1 };
    assert.deepEqual(readLimit(v1), machine);
  });

  it('reads the limit of a container (cgroup version 1 and 2)', () => {
    const v2 = { 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/memory.max': `${512 * MB}` };
    assert.deepEqual(readLimit(v2), [512, '/sys/fs/cgroup/memory.max']);
    // Without a cgroup namespace, a container of version 1 sees its host path, and its limit at the root.
    const v1 = {
      'proc/self/cgroup': '5:cpu:/docker/1f\n4:cpuacct,memory:/docker/1f',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': `${768 * MB}`,
    };
    assert.deepEqual(readLimit(v1), [768, '/sys/fs/cgroup/memory/memory.limit_in_bytes']);
  });

  it('takes the smallest limit of the cgroup and its ancestors', () => {
    const files = {
      'proc/self/cgroup': '0::/system.slice/quire.service',
      'sys/fs/cgroup/system.slice/quire.service/memory.max': `${4_000 * MB}`,
      'sys/fs/cgroup/system.slice/memory.max': `${3_000 * MB}`,
    };
    assert.deepEqual(readLimit(files), [3_000, '/sys/fs/cgroup/system.slice/memory.max']);
    assert.deepEqual(readLimit(files, 2_000), [2_000, 'the limit of the cgroup']);
  });

  it('reads version 2 beside version 1', () => {
    const files = {
      'proc/self/cgroup': '4:memory:/a\n0::/a',
      'sys/fs/cgroup/memory/a/memory.limit_in_bytes': UNLIMITED_V1,
      'sys/fs/cgroup/unified/a/memory.max': `${900 * MB}`,
    };
    assert.deepEqual(readLimit(files), [900, '/sys/fs/cgroup/unified/a/memory.max']);
  });
});
