import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { documents } from '../documents/tables.ts';
import { knowledgeBases } from '../tables.ts';
import { RetrieveResponse } from './schema.ts';
import { searchDatabase } from './search-database.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), limitClock: () => 0 });

const TEXTS: Record<string, string> = {
  granite: 'Granite is a stone. A library of stones exists in the town.',
  pumps: 'ERROR E-4711 stops the PUMP, and the error is written to user_id 42.',
  libraries: 'Libraries close on Sundays; OpenAI and C++ have shelves of their own.',
  houses: 'Die Häuser in der Gemeinde sind alt, und das Haus am See ist neu.',
  chinese: '图书馆星期六九点开门。',
  quotes: `It's 100%_of a "quoted" back\\slash; drop table chunks --`,
  long: `${'Filler words go on and on here. '.repeat(8)} One stone lies at the end.`,
  none: 'Salmon swim in rivers.',
};
const METADATA: Record<string, Record<string, unknown>> = {
  granite: { year: 2020, date: '2024-05-01', tags: ['a', 'b'], open: true },
  pumps: { year: 2021, date: '2024-05-02T10:00:00Z', tags: ['b'], open: false },
  libraries: { year: 2022.5, date: '2023-01-01', name: "O'Neil  Street" },
  houses: { year: -1, 'a "key"': 'x', tags: [] },
};
const QUERIES = [
  'stone',
  'STONES library',
  'libraries',
  'error pump',
  'E-4711',
  'user_id',
  'OpenAI',
  'C++',
  'Häuser',
  '图书馆',
  'the of and',
  '%',
  "it's 100%_of back\\slash",
  'stone stone library',
];
const FILTERS: Record<string, unknown>[] = [
  { document_name: 'granite.txt' },
  { document_name: 'absent.txt' },
  { source_type: 'file_upload' },
  { source_type: 'web_crawl' },
  { metadata: { year: 2020 } },
  { metadata: { year: { $gte: 2020, $lt: 2022.5 } } },
  { metadata: { year: { $lte: 2022.5, $gt: -1 } } },
  { metadata: { date: '2024-05-01T00:00:00Z' } },
  { metadata: { date: { $gt: '2024-05-01', $lte: '2024-05-02T12:00:00+02:00' } } },
  { metadata: { tags: 'b' } },
  { metadata: { tags: { $in: ['a', 'z'] } } },
  { metadata: { tags: { $ne: 'b' } } },
  { metadata: { tags: { $in: [] } } },
  { metadata: { open: true } },
  { metadata: { name: "O'Neil Street" } },
  { metadata: { 'a "key"': 'x' } },
  { metadata: { absent: { $gt: 1 } } },
  { metadata: { start_index: 0 } },
  { $or: [{ metadata: { year: 2021 } }, { metadata: { tags: 'a' }, document_name: 'granite.txt' }] },
];

describe('keyword search in the database', () => {
  let base: string;
  let source: MemorySource;
  before(async () => {
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    source = new MemorySource();
    for (const [key, text] of Object.entries(TEXTS)) source.items.set(key, text);
    for (const [key, metadata] of Object.entries(METADATA)) source.metadata.set(key, metadata);
    const { queueJob, run } = await makeSource(api, base, source);
    await run(await queueJob());
  });

  const retrieve = (body: object, key: string | null = api.key) =>
    api.send('POST', `/v1/knowledge-bases/${base}/retrieve`, { body, key });
  const search = async (body: object): Promise<{ name: string; score: number }[]> => {
    const { status, json } = await retrieve({ search_type: 'keyword', ...body });
    assert.equal(status, 200, JSON.stringify(json));
    return json.results.map(({ document_name: name, score }: { document_name: string; score: number }) => ({
      name,
      score,
    }));
  };
  const setState = (indexState: 'ready' | 'damaged') =>
    api.db.sql.update(knowledgeBases).set({ indexState }).where(eq(knowledgeBases.id, base));
  /** The results of a search of the index, and of the same search of the database. */
  async function searchBoth(body: object) {
    const indexed = await search(body);
    await setState('damaged');
    try {
      return { indexed, stored: await search(body) };
    } finally {
      await setState('ready');
    }
  }
  const names = (results: { name: string }[]) => results.map(({ name }) => name);

  for (const query of QUERIES) {
    it(`ranks as the index does: ${JSON.stringify(query)}`, async () => {
      const { indexed, stored } = await searchBoth({ query });
      assert.deepEqual(names(stored), names(indexed));
      for (const [i, { score }] of stored.entries()) assert.ok(Math.abs(score - (indexed[i]?.score ?? 0)) < 0.1);
    });
  }

  for (const query of AWKWARD_TEXTS) {
    it(`returns the chunks that the index returns: ${JSON.stringify(query)}`, async () => {
      const { indexed, stored } = await searchBoth({ query });
      assert.deepEqual(names(stored).toSorted(), names(indexed).toSorted());
    });
  }

  for (const filters of FILTERS) {
    it(`filters as the index does: ${JSON.stringify(filters)}`, async () => {
      const { indexed, stored } = await searchBoth({ query: 'stone error libraries Häuser', filters });
      assert.deepEqual(names(stored).toSorted(), names(indexed).toSorted());
    });
  }

  it('returns results of one document for a filter by its id', async () => {
    const [row] = await api.db.sql.select().from(documents).where(eq(documents.name, 'long.txt'));
    const { indexed, stored } = await searchBoth({ query: 'stone', filters: { document_id: row?.id } });
    assert.deepEqual([names(indexed), names(stored)], [['long.txt'], ['long.txt']]);
  });

  it('applies top_k and min_score, and reports a hybrid search as a keyword search', async () => {
    await setState('damaged');
    try {
      const { json } = await retrieve({ query: 'stone library', include_scores: true });
      assertSchema(RetrieveResponse, json);
      assert.equal(json.search_type, 'keyword');
      assert.ok(json.results.length > 1);
      const [{ score, scores }] = json.results;
      assert.deepEqual(scores, { vector: null, keyword: score, fused: score, rerank: null });
      assert.equal((await search({ query: 'stone library', top_k: 1 })).length, 1);
      assert.deepEqual(names(await search({ query: 'stone library', min_score: score })), ['granite.txt']);
    } finally {
      await setState('ready');
    }
  });

  it('returns no expired document and nothing of another organization', async () => {
    const isGranite = eq(documents.name, 'granite.txt');
    const { key } = await api.makeKey({ organization: 'org_other' });
    await setState('damaged');
    await api.db.sql
      .update(documents)
      .set({ expiresAt: new Date(0) })
      .where(isGranite);
    try {
      assert.deepEqual(names(await search({ query: 'stone' })), ['long.txt']);
      assertError(await retrieve({ query: 'stone' }, key), 404, 'knowledge_base_not_found', 'kb_id');
      const other = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Other' }, key })).json.id;
      await api.db.sql.update(knowledgeBases).set({ indexState: 'damaged' }).where(eq(knowledgeBases.id, other));
      const answer = await api.send('POST', `/v1/knowledge-bases/${other}/retrieve`, { body: { query: 'stone' }, key });
      assert.deepEqual([answer.status, answer.json.results], [200, []]);
    } finally {
      await api.db.sql.update(documents).set({ expiresAt: null }).where(isGranite);
      await setState('ready');
    }
  });

  it('searches for the first 16 terms of a query', async () => {
    const words = Array.from({ length: 15 }, (_, i) => `unknown${i}`).join(' ');
    await setState('damaged');
    try {
      assert.equal((await search({ query: `${words} salmon` })).length, 1);
      assert.equal((await search({ query: `${words} another7 salmon` })).length, 0);
      assert.equal((await search({ query: 'stone '.repeat(10_000) })).length, 2);
    } finally {
      await setState('ready');
    }
  });

  it('rejects with the reason of an aborted signal', async () => {
    const query = { text: 'stone', vector: null, languages: ['en' as const], conditions: [], limit: 10 };
    const signal = AbortSignal.abort(new Error('the caller disconnected'));
    await assert.rejects(searchDatabase(api.deps, { id: base, chunkCount: 8 }, { ...query, signal }), /disconnected/);
  });
});
