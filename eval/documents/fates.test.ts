import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contradictions, fatesOf } from './fates.ts';
import type { Fault, IngestionResult, ListedDocument, Sent } from './ingesting.ts';
import { outcomeSheet } from './sheets.ts';

const noText = { code: 'no_text', message: 'It has none.' };
const fileOf = (name: string) => ({ path: name, name, bytes: Buffer.alloc(1), collection: 'a', format: '.txt' });
const sent: Sent[] = [
  { file: fileOf('refused'), refusal: { code: 'invalid_value', message: 'It is empty.' } },
  ...['whole', 'partly', 'failed', 'lost'].map((id) => ({ file: fileOf(id), id })),
];

function documentOf(id: string, uri: string, error: Fault | null = null): ListedDocument {
  const status = error === null ? 'completed' : 'failed';
  return { id, name: id, source_uri: uri, status, chunk_count: error === null ? 2 : 0, error };
}

function ingestionOf(documents: ListedDocument[]): IngestionResult {
  const details = documents.map(({ id, status, chunk_count, error }) => {
    return { document_id: id, status, chunks_created: chunk_count, error };
  });
  const job = {
    id: 'job',
    status: 'completed',
    documents_processed: documents.filter(({ status }) => status === 'completed').length,
    documents_failed: documents.filter(({ status }) => status === 'failed').length,
    chunks_created: 4,
    documents_scanned: 4,
    error: null,
  };
  return { base: 'kb', source: 'ds', job, details, documents, seconds: 1, peakMb: null };
}

const documents = [
  documentOf('1', 'whole'),
  documentOf('2', 'partly#1'),
  documentOf('3', 'partly#2', noText),
  documentOf('4', 'failed', noText),
];

describe('fatesOf and contradictions', () => {
  it('assigns one outcome per file, with its first error', () => {
    const fates = fatesOf(sent, ingestionOf(documents));
    assert.deepEqual(
      fates.map(({ file, outcome, fault }) => [file.name, outcome, fault?.code]),
      [
        ['refused', 'refused', 'invalid_value'],
        ['whole', 'ingested', undefined],
        ['partly', 'partly', 'no_text'],
        ['failed', 'failed', 'no_text'],
        ['lost', 'lost', undefined],
      ],
    );
  });

  it('counts an unfinished file as lost', () => {
    const half = [{ ...documentOf('1', 'whole'), status: 'processing' }, documentOf('2', 'whole')];
    assert.equal(fatesOf(sent, ingestionOf(half))[1]?.outcome, 'lost');
  });

  it('counts outcomes, error codes, documents and chunks', () => {
    const [row] = outcomeSheet(fatesOf(sent, ingestionOf(documents))).rows;
    // Files; rejected, ingested, partly, failed, lost; no_text; documents and chunks.
    assert.deepEqual(row, { name: 'a .txt', cells: [5, 1, 1, 1, 1, 1, 2, 2, 4] });
  });

  it('reports differences between lists, job details and counts', () => {
    const good = ingestionOf(documents);
    assert.deepEqual(contradictions(sent, good), []);
    const [first, ...others] = good.details;
    assert.ok(first);
    const differing = { ...good, details: [{ ...first, chunks_created: 9 }, ...others] };
    assert.match(contradictions(sent, differing).join(), /^1 documents differ/);
    const twice = { ...good, documents: [...documents, documentOf('1', 'whole')] };
    assert.equal(contradictions(sent, twice).length, 2);
    const strange = ingestionOf([...documents, documentOf('5', 'nobody')]);
    assert.match(contradictions(sent, strange).join(), /of no file that was sent/);
    const short = { ...good, job: { ...good.job, documents_scanned: 3, status: 'failed', error: noText } };
    assert.equal(contradictions(sent, short).length, 2);
  });
});
