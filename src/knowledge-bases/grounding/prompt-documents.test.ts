import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContextChunk } from './gather-context.ts';
import { toJoinable, toJoinedDocuments } from './prompt-documents.ts';

const TEXT = '# Pump\n\nClose the valve.\n\n## Cleaning\n\nOpen the lid.\nRinse the filter.\n\nDone.';
/** A chunk of `TEXT`. */
const chunk = (startIndex: number, endIndex: number, changes: Partial<ContextChunk> = {}): ContextChunk =>
  ({
    documentId: 'doc_1',
    documentName: 'pump.md',
    headingPath: ['Pump'],
    metadata: {},
    updatedAt: 1_700_000_000,
    startIndex,
    endIndex,
    text: TEXT.slice(startIndex, endIndex),
    storedText: TEXT.slice(startIndex, endIndex),
    ...changes,
  }) as ContextChunk;

describe('toJoinedDocuments', () => {
  it('joins chunks of one document that overlap or touch, at the rank of the best', () => {
    const other = chunk(0, 8, { documentId: 'doc_2', documentName: 'tap.md' });
    const gap = chunk(70, TEXT.length);
    const found = toJoinedDocuments([chunk(20, 60), other, chunk(0, 30), gap]);
    assert.deepEqual(
      found.map(({ title, text }) => [title, text]),
      [
        ['pump.md > Pump', TEXT.slice(0, 60)],
        ['tap.md > Pump', TEXT.slice(0, 8)],
        ['pump.md > Pump', TEXT.slice(70)],
      ],
    );
  });
  it('gives joined chunks the score of the best, in any order of the document', () => {
    const joinScores = (first: number, second: number) => {
      const chunks = [chunk(0, 30, { score: first }), chunk(20, 60, { score: second })];
      return toJoinedDocuments(chunks.sort((a, b) => b.score - a.score)).map(({ score }) => score);
    };
    assert.deepEqual(joinScores(0.2, 0.4), [0.4]);
    assert.deepEqual(joinScores(0.3, 0.1), [0.3]);
  });
  it('keeps chunks apart whose text does not match their offsets', () => {
    for (const text of ['Close', TEXT.slice(20, 60).replace('lid', 'lip')]) {
      const found = toJoinedDocuments([chunk(0, 30), chunk(20, 60, { text })]);
      assert.deepEqual(
        found.map((document) => document.text),
        [TEXT.slice(0, 30), text],
      );
    }
  });
  it('returns the time of the last change by the metadata, else of the ingestion', () => {
    const times = [
      { last_modified: '2024-05-01T00:00:00Z', date: '2020-01-01' },
      { date: '2020-01-01' },
      { date: 'soon' },
    ];
    assert.deepEqual(
      times.map((metadata) => toJoinedDocuments([toJoinable(chunk(0, 9, { metadata }))])[0]?.modifiedAt),
      [Date.UTC(2024, 4, 1) / 1_000, Date.UTC(2020, 0, 1) / 1_000, 1_700_000_000],
    );
  });
});
