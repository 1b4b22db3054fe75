import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { KvDiskCache, scopeKey } from './kv-disk-cache.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-states-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Header of a state of llama.cpp, and a short state. */
function stateOf(tokens: number[]): Buffer {
  const head = Buffer.alloc(12 + 4 * tokens.length + 8);
  head.writeUInt32LE(0x67677371, 0);
  head.writeUInt32LE(3, 4);
  head.writeUInt32LE(tokens.length, 8);
  for (const [i, token] of tokens.entries()) head.writeInt32LE(token, 12 + 4 * i);
  return head;
}

async function save(files: KvDiskCache, scope: string, tokens: number[]): Promise<string> {
  const state = stateOf(tokens);
  const { id } = await files.write(scopeKey(scope), async (path) => {
    await writeFile(path, state);
    return state.length;
  });
  return id;
}

describe('KvDiskCache', () => {
  it('a later start finds committed snapshots, the least recently used first', async () => {
    const path = join(folder, 'kept');
    const { files, snapshots } = await KvDiskCache.open(path, 'model 1');
    assert.deepEqual(snapshots, []);
    const [first, second] = [await save(files, 'org_a', [1, 2, 3]), await save(files, 'org_b', [4])];
    await Promise.all([files.commit(first), files.commit(second)]);
    utimesSync(files.path(second), new Date(1_000), new Date(1_000));
    const again = await KvDiskCache.open(path, 'model 1');
    assert.deepEqual(
      again.snapshots.map(({ id, scope, tokens, bytes }) => ({ id, scope, tokens: [...tokens], bytes })),
      [
        { id: second, scope: scopeKey('org_b'), tokens: [4], bytes: 24 },
        { id: first, scope: scopeKey('org_a'), tokens: [1, 2, 3], bytes: 32 },
      ],
    );
    // A use within the same millisecond could be ordered before the other one.
    utimesSync(files.path(first), new Date(2_000), new Date(2_000));
    await files.touch(second);
    assert.deepEqual(
      (await KvDiskCache.open(path, 'model 1')).snapshots.map(({ id }) => id),
      [first, second],
    );
  });
  it('snapshots of another model, uncommitted ones and other files are deleted', async () => {
    const path = join(folder, 'strange');
    const { files } = await KvDiskCache.open(path, 'model 1');
    const unfinished = await save(files, 'org', [1]);
    const broken = await save(files, 'org', [1]);
    await files.commit(broken);
    rmSync(files.path(broken));
    writeFileSync(files.path(broken), 'no state', { mode: 0o400 });
    writeFileSync(join(path, 'notes.txt'), 'hello', { mode: 0o400 });
    const { snapshots } = await KvDiskCache.open(path, 'model 1');
    assert.deepEqual(snapshots, []);
    assert.deepEqual(readdirSync(path), ['model.txt']);
    assert.equal(existsSync(files.path(unfinished)), false);
    const kept = await save(files, 'org', [1]);
    await files.commit(kept);
    assert.equal((await KvDiskCache.open(path, 'model 2')).snapshots.length, 0);
    assert.deepEqual(readdirSync(path), ['model.txt']);
  });
  it('a failed write leaves no file', async () => {
    const path = join(folder, 'failed');
    const { files } = await KvDiskCache.open(path, 'model');
    const full = new Error('no space left');
    await assert.rejects(
      files.write(scopeKey('org'), async (file) => {
        await writeFile(file, 'half');
        throw full;
      }),
      full,
    );
    assert.deepEqual(readdirSync(path), ['model.txt']);
  });
  it('other users cannot read them, and their names do not reveal the organization', async () => {
    const path = join(folder, 'private');
    const { files } = await KvDiskCache.open(path, 'model');
    const id = await save(files, 'org_secret', [1]);
    assert.equal(statSync(files.path(id)).mode & 0o077, 0);
    assert.equal(statSync(path).mode & 0o077, 0);
    assert.doesNotMatch(id, /secret/);
    await files.commit(id);
    await files.remove(id);
    await files.commit(id);
  });
});
