import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredFile } from './load-sources.ts';
import { planSources, type SourcePlan } from './plan-sources.ts';

const file = (id: string): StoredFile => ({ id, name: `${id}.txt`, bytes: 1, sha256: id });
const upload = (name: string, replaces: StoredFile | null = null) => ({
  document: { name, path: `/x/${name}` },
  replaces,
});
const uploadNames = (parts: readonly SourcePlan[]) =>
  parts.map((part) => part.uploads.map(({ document }) => document.name));

describe('planSources', () => {
  it('creates as many data sources as the documents need', () => {
    const many = Array.from({ length: 7 }, (_, at) => upload(`${at}`));
    const parts = planSources({ uploads: many, unchanged: [], gone: [], failures: [] }, [], 3);
    assert.deepEqual(uploadNames(parts), [['0', '1', '2'], ['3', '4', '5'], ['6']]);
    assert.ok(parts.every(({ source }) => source === null));
  });

  it('keeps files in their data sources; new files fill free capacity first', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(file) as [StoredFile, StoredFile, StoredFile, StoredFile];
    const sources = [
      { id: 'ds_1', fileIds: ['a', 'b', 'deleted'], files: [a, b] },
      { id: 'ds_2', fileIds: ['c', 'd'], files: [c, d] },
    ];
    const changed = {
      uploads: [upload('new1'), upload('c', c), upload('new2'), upload('new3')],
      unchanged: [a, b],
      gone: [d],
    };
    const parts = planSources({ ...changed, failures: [] }, sources, 2);
    assert.deepEqual(uploadNames(parts), [[], ['c', 'new1'], ['new2', 'new3']]);
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
