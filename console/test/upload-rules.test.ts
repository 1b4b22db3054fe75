import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkUpload } from '../src/api/check-upload.ts';
import { type FileDocument, type FileJob, toFileProcessing } from '../src/api/file-processing.ts';

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

describe('the state of an uploaded file', () => {
  const document = (changes: Partial<FileDocument> = {}): FileDocument => ({
    id: 'doc_1',
    source_uri: 'file-1',
    status: 'completed',
    chunk_count: 3,
    error: null,
    ...changes,
  });
  const job = (status: FileJob['status'], message?: string): FileJob => ({
    status,
    error: message === undefined ? null : { message },
  });
  const stateOf = (latest: FileJob | null, documents: FileDocument[], { isFinal = false, isRepeated = false } = {}) =>
    toFileProcessing('file-1', { job: latest, isRepeated }, { documents, isFinal });

  it('follows the job while the file has no document', () => {
    assert.equal(stateOf(null, []).state, 'queued');
    assert.equal(stateOf(job('queued'), []).state, 'queued');
    assert.equal(stateOf(job('processing'), [document({ source_uri: 'file-12' })]).state, 'processing');
    assert.equal(stateOf(job('completed'), []).state, 'processing', 'until its documents are read');
  });

  it('is ready or failed with its document, although the job goes on', () => {
    assert.deepEqual(stateOf(job('processing'), [document()]), { state: 'ready', chunks: 3 });
    const failed = document({ status: 'failed', error: { message: 'Broken.' } });
    assert.deepEqual(stateOf(job('processing'), [failed]), { state: 'failed', documentId: 'doc_1', error: 'Broken.' });
  });

  it('waits for the end of the job after a retry, and for all lines of a JSONL file', () => {
    const failed = document({ status: 'failed', error: { message: 'Broken.' } });
    assert.equal(stateOf(job('processing'), [failed], { isRepeated: true }).state, 'processing');
    const lines = [document({ source_uri: 'file-1#1' }), document({ source_uri: 'file-1#2', chunk_count: 4 })];
    assert.equal(stateOf(job('processing'), lines).state, 'processing');
    assert.deepEqual(stateOf(job('completed'), lines, { isFinal: true }), { state: 'ready', chunks: 7 });
  });

  it('fails with the error of a job that made no document', () => {
    const final = { isFinal: true };
    assert.deepEqual(stateOf(job('failed', 'Cancelled.'), [], final), {
      state: 'failed',
      documentId: null,
      error: 'Cancelled.',
    });
    assert.deepEqual(stateOf(job('completed'), [], final), { state: 'failed', documentId: null, error: null });
  });
});
