import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../src/db/db.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';
import { ChunkIndex } from '../src/search/chunk-index.ts';
import { parseIndexUrl } from '../src/search/storage.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { type S3Server, startS3Server } from './fixtures/s3-server.ts';

const BASE = 'kb_1';
/** Longer than the stall that opens the tables again, shorter than `SHARED_CONSISTENCY_SECONDS`. */
const SUSPENSION_MS = 700;

/** A document of one chunk with a unique word. */
function createChunk(documentId: string) {
  const vector = new Float32Array(1024);
  vector[documentId.length] = 1;
  const common = { documentName: documentId, sourceType: 'file_upload', language: 'en' as const, fields: {} };
  return { id: `chunk_${documentId}`, documentId, text: `tells of ${documentId}`, vector, ...common };
}

describe('a search index shared by two processes in an object store', () => {
  let database: TestDatabase;
  let store: S3Server;
  const databases: Database[] = [];
  const indexes: ChunkIndex[] = [];
  before(async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
    database = await createDatabase();
    store = await startS3Server();
    const { url, options } = parseIndexUrl(store.url('index'));
    for (const _ of [1, 2]) {
      const db = await openPostgres(database.url, createLogger('silent'));
      databases.push(db);
      indexes.push(await ChunkIndex.open(url, { storage: options, lock: db.withLock }));
    }
  });
  after(async () => {
    await Promise.all(indexes.map((index) => index.close()));
    await Promise.all(databases.map((db) => db.close()));
    await store.close();
    await database.drop();
  });

  const replace = (index: ChunkIndex, document: string, isNew = true) =>
    index.replace(BASE, [document], { chunks: [createChunk(document)], isNew });

  it('applies all writes of both, including creation, compaction and deletion', async () => {
    const [a, b] = indexes as [ChunkIndex, ChunkIndex];
    const documents = Array.from({ length: 6 }, (_, i) => `document${'x'.repeat(i)}`);
    await Promise.all(documents.map((document, i) => replace(i % 2 === 0 ? a : b, document)));
    await Promise.all([
      a.maintain(BASE),
      replace(b, 'document', false),
      a.rebuild(BASE),
      b.rebuild(BASE),
      a.remove(BASE, ['documentx']),
      b.maintain(BASE),
    ]);
    const reader = await ChunkIndex.open(parseIndexUrl(store.url('index')).url, {
      storage: parseIndexUrl(store.url('index')).options,
    });
    assert.equal(await reader.count(BASE), 5);
    const { signal } = new AbortController();
    for (const document of documents) {
      const search = { vector: null, text: document, languages: ['en' as const], conditions: [], limit: 10, signal };
      const hits = (await reader.search(BASE, search)).map(({ id }) => id);
      assert.deepEqual(hits, document === 'documentx' ? [] : [`chunk_${document}`]);
    }
    await reader.close();
  });

  it('reads the latest version after a suspension, however new its last read seems', async () => {
    const [a, b] = indexes as [ChunkIndex, ChunkIndex];
    await replace(a, 'first', false);
    const before = await a.count(BASE);
    await b.count(BASE);
    await replace(a, 'second', false);
    // Stands for a suspension that is shorter than the interval in which LanceDB reads the latest version.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SUSPENSION_MS);
    assert.equal(await b.count(BASE), before + 1);
  });

  it('recreates a table that the other process has dropped', async () => {
    const [a, b] = indexes as [ChunkIndex, ChunkIndex];
    await replace(b, 'before', false);
    await a.drop(BASE);
    await replace(b, 'after', false);
    await a.drop(BASE);
    await b.drop(BASE);
    await replace(a, 'last');
    assert.equal(await a.count(BASE), 1);
  });
});
