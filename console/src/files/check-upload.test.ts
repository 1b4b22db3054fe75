import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkUpload } from './check-upload.ts';

const LIMITS = { max_bytes: 100, extensions: { batch: ['.jsonl'], 'knowledge-base': ['.md', '.pdf'] } };

describe('the check of a file before its upload', () => {
  const kindOf = (name: string, size: number, purpose = 'knowledge-base') =>
    checkUpload({ name, size }, purpose, LIMITS)?.kind ?? null;

  it('accepts the extensions of the purpose in any case', () => {
    for (const name of ['a.md', 'A.PDF', 'guides/pump.md', ' a.md ']) assert.equal(kindOf(name, 1), null, name);
    for (const name of ['a.png', 'md', 'a.md.exe', 'a.md/README', '']) assert.equal(kindOf(name, 1), 'type', name);
    assert.equal(kindOf('a.md', 1, 'batch'), 'type');
    assert.equal(kindOf('a.jsonl', 1, 'batch'), null);
  });

  it('rejects empty files, and files above the limit', () => {
    assert.deepEqual(
      [0, 1, 100, 101].map((size) => kindOf('a.md', size)),
      ['empty', null, null, 'too_large'],
    );
    assert.deepEqual(checkUpload({ name: 'a.md', size: 101 }, 'knowledge-base', LIMITS), {
      kind: 'too_large',
      maxBytes: 100,
    });
  });
});
