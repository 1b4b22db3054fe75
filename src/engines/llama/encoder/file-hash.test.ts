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
  const cached = join(folder, 'data', 'hashes.json');
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

  it('computes a hash once, and again for another size or modification time', async () => {
    writeFileSync(file, 'one');
    assert.equal((await hashFile(file, cached, never)).sha256, sha256('one'));
    // The cached hash is used while size and time are unchanged: the file is not read.
    const { mtime } = statSync(file);
    writeFileSync(file, 'two');
    utimesSync(file, mtime, mtime);
    writeFileSync(
      cached,
      readFileSync(cached, 'utf8').replace(/"modifiedMs": [\d.]+/, `"modifiedMs": ${statSync(file).mtimeMs}`),
    );
    assert.equal((await hashFile(file, cached, never)).sha256, sha256('one'));
    utimesSync(file, mtime, new Date(mtime.getTime() + 5_000));
    assert.equal((await hashFile(file, cached, never)).sha256, sha256('two'));
    writeFileSync(file, 'three');
    assert.deepEqual((await hashFile(file, undefined, never)).sha256, sha256('three'));
  });
  it('recomputes it when the cache is damaged, and throws for a missing file', async () => {
    writeFileSync(cached, '{');
    assert.equal((await hashFile(file, cached, never)).sha256, sha256('three'));
    await assert.rejects(hashFile(join(folder, 'none'), cached, never), /ENOENT/);
  });
  it('computes hashes of several files at once with one cache', async () => {
    const files = Array.from({ length: 20 }, (_, i) => join(folder, `model-${i}.gguf`));
    for (const each of files) writeFileSync(each, each);
    const hashes = await Promise.all(files.map((each) => hashFile(each, cached, never)));
    assert.deepEqual(
      hashes.map((hash) => hash.sha256),
      files.map(sha256),
    );
  });
  it('computes a hash when the cache cannot be written', async () => {
    assert.equal((await hashFile(file, join(file, 'hashes.json'), never)).sha256, sha256('three'));
  });
});
