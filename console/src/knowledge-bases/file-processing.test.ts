import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FileDocument, type FileJob, toFileProcessing } from './file-processing.ts';

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
