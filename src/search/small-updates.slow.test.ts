import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { ChunkIndex } from './chunk-index.ts';
import type { IndexedChunk } from './chunk-rows.ts';

const BASE = 'kb_large';
const ROWS = 5_200;
const DOCUMENTS = 520;
const UPDATES = 700;

function makeChunk(i: number, version = 0): IndexedChunk {
  const vector = new Float32Array(1024);
  for (let k = 0; k < 1024; k++) vector[k] = Math.sin(i * 31 + k * 17);
  const length = Math.hypot(...vector);
  return {
    id: `c${i}_${version}`,
    documentId: `doc_${Math.floor(i / 10)}`,
    documentName: 'name.txt',
    sourceType: 'file_upload',
    language: 'en',
    text: `word w${i % 50} version${version}`,
    vector: vector.map((value) => value / length),
    fields: {},
  };
}

describe('small updates of a large index', () => {
  let folder: string;
  let index: ChunkIndex;
  const maximum = { fragments: 0, parts: 0, unindexed: 0 };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quire-index-'));
    index = await ChunkIndex.open(folder);
    const chunks = Array.from({ length: ROWS }, (_, i) => makeChunk(i));
    const ids = Array.from({ length: DOCUMENTS }, (_, i) => `doc_${i}`);
    await index.replace(BASE, ids, { chunks, isNew: true });
    await index.maintain(BASE);
    const connection = await connect(folder);
    for (let version = 1; version <= UPDATES; version++) {
      const document = (version * 7) % DOCUMENTS;
      const replaced = Array.from({ length: 10 }, (_, i) => makeChunk(document * 10 + i, version));
      await index.replace(BASE, [`doc_${document}`], { chunks: replaced, isNew: false });
      await index.maintain(BASE);
      const table = await connection.openTable(BASE);
      const vectors = await table.indexStats('vector_idx');
      const terms = await table.indexStats('terms_idx');
      maximum.fragments = Math.max(maximum.fragments, (await table.stats()).fragmentStats.numFragments);
      maximum.parts = Math.max(maximum.parts, vectors?.numIndices ?? 0);
      maximum.unindexed = Math.max(maximum.unindexed, terms?.numUnindexedRows ?? 0);
      table.close();
    }
  });
  after(async () => {
    await index.close();
    await rm(folder, { recursive: true });
  });

  it('keep fragments, parts of the vector index and unindexed rows bounded', () => {
    assert.ok(maximum.fragments <= 50, `${maximum.fragments} fragments`);
    assert.ok(maximum.parts <= 25, `${maximum.parts} parts`);
    assert.ok(maximum.unindexed <= 52, `${maximum.unindexed} unindexed rows`);
  });

  it('are found, and the replaced chunks are not', async () => {
    const { signal } = new AbortController();
    const search = { vector: null, languages: ['en' as const], conditions: [], limit: 100, signal };
    const hits = await index.search(BASE, { ...search, text: `version${UPDATES}` });
    assert.equal(hits.length, 10);
    assert.equal(await index.count(BASE), ROWS);
    assert.deepEqual(await index.search(BASE, { ...search, text: 'version1' }), []);
  });

  it('leave no files of old versions after the versions are removed', async () => {
    const table = await (await connect(folder)).openTable(BASE);
    await table.optimize({ cleanupOlderThan: new Date() });
    const { fragmentStats } = await table.stats();
    table.close();
    const files = readdirSync(join(folder, `${BASE}.lance`), { recursive: true, withFileTypes: true });
    const count = files.filter((entry) => entry.isFile()).length;
    assert.ok(count < 300, `${count} files, ${fragmentStats.numFragments} fragments`);
  });
});
