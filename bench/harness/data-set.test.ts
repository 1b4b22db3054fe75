import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { UsageError } from './command.ts';
import { readJsonLines, requireDataFiles } from './data-set.ts';

describe('data sets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'rows.jsonl.gz'), gzipSync('{"a":1}\n\n{"a":"\\u2028"}\n'));

  it('reads the rows of a compressed file and skips blank lines', () => {
    assert.deepEqual(readJsonLines(folder, 'rows.jsonl.gz'), [{ a: 1 }, { a: '\u2028' }]);
  });

  it('names the missing file or flag in a UsageError', () => {
    assert.equal(requireDataFiles(folder, ['rows.jsonl.gz']), folder);
    assert.throws(() => requireDataFiles(folder, ['rows.jsonl.gz', 'more.gz']), {
      message: /there is no more\.gz in it/,
    });
    assert.throws(() => requireDataFiles(undefined, []), UsageError);
  });
});
