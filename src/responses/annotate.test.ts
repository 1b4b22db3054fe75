import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotateText } from './annotate.ts';
import type { SearchResult } from './item-schema.ts';

describe('annotateText', () => {
  const text = 'The library in Ashford opens at nine on Saturdays.';
  const result: SearchResult = {
    kb_id: 'kb_1',
    document_id: 'doc_1',
    document_name: 'Opening hours',
    chunk_id: 'chunk_1',
    text,
    score: 0.9,
    file_id: 'doc_1',
    filename: 'Opening hours',
    attributes: { source_type: 'web_crawl', source_uri: 'https://ashford.example/library' },
  };

  it('cites files, and pages of web sites with their URL too', () => {
    const [file, page, ...others] = annotateText(text, [result, result]);
    assert.deepEqual([file?.type, others.length], ['file_citation', 0]);
    assert.deepEqual(page, {
      type: 'url_citation',
      url: 'https://ashford.example/library',
      title: 'Opening hours',
      start_index: 0,
      end_index: text.length,
    });
    const uploaded = { ...result, attributes: { source_type: 'file_upload', source_uri: 'file-1' } };
    assert.equal(annotateText(text, [uploaded]).length, 1);
  });
});
