import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readRows, requireFiles, WrongCallError } from './data-set.ts';

describe('the data folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'rows.jsonl.gz'), gzipSync('{"a":1}\n\n{"a":"\\u2028"}\n'));

  it('gives the rows of a compressed file, blank lines left out', () => {
    assert.deepEqual(readRows(folder, 'rows.jsonl.gz'), [{ a: 1 }, { a: '\u2028' }]);
  });

  it('says which file is missing, or that no folder was named', () => {
    assert.equal(requireFiles(folder, ['rows.jsonl.gz']), folder);
    assert.throws(() => requireFiles(folder, ['rows.jsonl.gz', 'more.gz']), { message: /there is no more\.gz in it/ });
    assert.throws(() => requireFiles(undefined, []), WrongCallError);
  });
});
