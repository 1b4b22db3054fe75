import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partSources, type SourcePart } from './part-sources.ts';
import type { StoredFile } from './stored-sources.ts';

const file = (id: string): StoredFile => ({ id, name: `${id}.txt`, bytes: 1, sha256: id });
const wanted = (name: string, replaces: StoredFile | null = null) => ({
  document: { name, path: `/x/${name}` },
  replaces,
});
const namesOf = (parts: readonly SourcePart[]) => parts.map((part) => part.wanted.map(({ document }) => document.name));

describe('the data sources of a folder', () => {
  it('are as many as its documents need', () => {
    const many = Array.from({ length: 7 }, (_, at) => wanted(`${at}`));
    const parts = partSources({ wanted: many, unchanged: [], gone: [], failures: [] }, [], 3);
    assert.deepEqual(namesOf(parts), [['0', '1', '2'], ['3', '4', '5'], ['6']]);
    assert.ok(parts.every(({ source }) => source === null));
  });

  it('keep what they have: what changed stays where it was, what is new goes where there is room', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(file) as [StoredFile, StoredFile, StoredFile, StoredFile];
    const sources = [
      { id: 'ds_1', fileIds: ['a', 'b', 'deleted'], files: [a, b] },
      { id: 'ds_2', fileIds: ['c', 'd'], files: [c, d] },
    ];
    const changed = {
      wanted: [wanted('new1'), wanted('c', c), wanted('new2'), wanted('new3')],
      unchanged: [a, b],
      gone: [d],
    };
    const parts = partSources({ ...changed, failures: [] }, sources, 2);
    assert.deepEqual(namesOf(parts), [[], ['c', 'new1'], ['new2', 'new3']]);
    assert.deepEqual(
      parts.map(({ unchanged, gone }) => [unchanged, gone]),
      [
        [[a, b], []],
        [[], [d]],
        [[], []],
      ],
    );
  });
});
