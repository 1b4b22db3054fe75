import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { hashFile } from './file-hash.ts';

describe('hashFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-hash-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const never = new AbortController().signal;
  const file = join(folder, 'model.gguf');
  const kept = join(folder, 'data', 'hashes.json');
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

  it('computes a hash once, and again for another size or time of change', async () => {
    writeFileSync(file, 'one');
    assert.equal((await hashFile(file, kept, never)).sha256, sha256('one'));
    // What was kept counts while size and time are the same: nothing is read.
    const { mtime } = statSync(file);
    writeFileSync(file, 'two');
    utimesSync(file, mtime, mtime);
    writeFileSync(
      kept,
      readFileSync(kept, 'utf8').replace(/"modifiedMs":[\d.]+/, `"modifiedMs":${statSync(file).mtimeMs}`),
    );
    assert.equal((await hashFile(file, kept, never)).sha256, sha256('one'));
    utimesSync(file, mtime, new Date(mtime.getTime() + 5_000));
    assert.equal((await hashFile(file, kept, never)).sha256, sha256('two'));
    writeFileSync(file, 'three');
    assert.deepEqual((await hashFile(file, undefined, never)).sha256, sha256('three'));
  });
  it('computes it where what is kept is damaged, and throws where there is no file', async () => {
    writeFileSync(kept, '{');
    assert.equal((await hashFile(file, kept, never)).sha256, sha256('three'));
    await assert.rejects(hashFile(join(folder, 'none'), kept, never), /ENOENT/);
  });
});
