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
    page: null,
    slide: null,
    cells: null,
    heading_path: ['Ashford'],
    document_start_index: 100,
    document_end_index: 100 + text.length,
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
      url: 'https://ashford.example/library#:~:text=The%20library%20in%20Ashford%20opens%20at%20nine%20on%20Saturdays.',
      title: 'Opening hours',
      start_index: 0,
      end_index: text.length,
    });
    const uploaded = { ...result, attributes: { source_type: 'file_upload', source_uri: 'file-1' } };
    assert.equal(annotateText(text, [uploaded]).length, 1);
  });

  it('points to the sentences of the passage', () => {
    const before = 'Ashford has 9 bridges 📚. ';
    const passage = { ...result, text: `${before}${text} The museum is closed in winter.`, document_end_index: 0 };
    passage.document_end_index = 100 + passage.text.length;
    const [file] = annotateText('It opens at nine on Saturdays, in the library.', [passage]);
    assert.ok(file?.type === 'file_citation');
    const { document_start_index: from, document_end_index: to, heading_path, page } = file;
    assert.equal(passage.text.slice(from - 100, to - 100), text);
    assert.deepEqual([heading_path, page], [['Ashford'], null]);
  });

  it('points to the whole chunk when the model has read only a part of its text', () => {
    const [file] = annotateText(text, [{ ...result, text: `[...] ${text}`, document_end_index: 900 }]);
    assert.ok(file?.type === 'file_citation');
    assert.deepEqual([file.document_start_index, file.document_end_index], [100, 900]);
  });
});
