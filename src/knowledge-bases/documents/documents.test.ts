import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { listSchema } from '../../db/page.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { IngestionJob } from '../jobs/schema.ts';
import { Chunk, DeletedDocument, Document } from './schema.ts';
import { chunks, documents, droppedDocuments } from './tables.ts';
import { applyTombstones, purgeTombstones } from './tombstones.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
const BASES = '/v1/knowledge-bases';
const UNKNOWN_KB = 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3';
const UNKNOWN = 'doc_01kaj3v0b8s4x2m6n9p1q5r7t3';

/** Rows as ingestion writes them. */
interface Made {
  base: string;
  source: string;
}

const newBase = async (key = api.key): Promise<string> =>
  (await api.send('POST', BASES, { body: { name: 'Base' }, key })).json.id;
const made = async (): Promise<Made> => {
  const base = await newBase();
  const body = { type: 'web_crawl', config: { urls: ['https://example.com'] } };
  return { base, source: (await api.send('POST', `${BASES}/${base}/data-sources`, { body })).json.id };
};
/** Adds a document with `texts.length` chunks to rows and index. */
async function addDocument({ base, source }: Made, texts: string[], more: object = {}): Promise<string> {
  const id = newId('document');
  const at = new Date(1_763_683_200_000);
  const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
  const row = {
    id,
    knowledgeBaseId: base,
    dataSourceId: source,
    organizationId,
    itemKey: id,
    part: '',
    fingerprint: 'f',
    seenBy: 'job',
    name: 'handbook.md',
    sourceType: 'web_crawl',
    sourceUri: 'https://example.com',
    mimeType: 'text/markdown',
    bytes: 3_000_000_000,
    contentHash: 'ab',
    chunkCount: texts.length,
    status: 'completed' as const,
    error: null,
    metadata: { team: 'x' },
    language: 'en',
    createdAt: at,
    updatedAt: at,
    ...more,
  };
  await api.db.sql.insert(documents).values(row);
  const vector = new Float32Array(1024).fill(1 / 32);
  const rows = texts.map((text, position) => ({
    ...{ id: newId('chunk'), documentId: id, knowledgeBaseId: base, position, text, tokens: 2 },
    ...{ startIndex: 0, endIndex: text.length, page: 1, cells: 'Costs!A2:C9', headingPath: ['Top'] },
  }));
  if (rows.length > 0) await api.db.sql.insert(chunks).values(rows);
  const indexed = rows.map(({ id: chunk, text }) => ({
    ...{ id: chunk, documentId: id, documentName: row.name, sourceType: 'web_crawl', text },
    ...{ language: 'en' as const, vector, fields: {} },
  }));
  await api.deps.chunks.replace(base, [id], { chunks: indexed as never, isNew: true });
  const counted = row.status === 'completed' ? 1 : 0;
  await api.db.execute('update data_sources set document_count = document_count + $1 where id = $2', [counted, source]);
  await api.db.execute(
    'update knowledge_bases set document_count = document_count + $1, chunk_count = chunk_count + $2 where id = $3',
    [counted, texts.length, base],
  );
  return id;
}
const get = (base: string, rest = '', key = api.key) => api.send('GET', `${BASES}/${base}/documents${rest}`, { key });
const idsOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);
const countsOf = async ({ base, source }: Made) => {
  const { json } = await api.send('GET', `${BASES}/${base}`);
  const of = (await api.send('GET', `${BASES}/${base}/data-sources/${source}`)).json;
  return [json.document_count, json.chunk_count, of.document_count];
};
const dropped = () => api.db.sql.select().from(droppedDocuments);

describe('GET /v1/knowledge-bases/{kb_id}/documents', () => {
  let here: Made;
  const ids: string[] = [];
  before(async () => {
    here = await made();
    const error = { code: 'no_text', message: 'No text.', param: null, retryable: false };
    ids.push(await addDocument(here, ['one']));
    ids.push(await addDocument(here, [], { status: 'failed', error, contentHash: null, mimeType: null }));
    ids.push(await addDocument(here, ['three']));
    await addDocument(await made(), ['elsewhere']);
  });

  it('lists the documents oldest first, with paging', async () => {
    const first = (await get(here.base, '?limit=2')).json;
    assertSchema(listSchema(Document), first);
    assert.deepEqual([idsOf(first), first.has_more], [ids.slice(0, 2), true]);
    const second = (await get(here.base, `?limit=2&after=${first.last_id}`)).json;
    assert.deepEqual([idsOf(second), second.has_more], [ids.slice(2), false]);
  });

  it('filters by data source and by status', async () => {
    assert.deepEqual(idsOf((await get(here.base, '?status=failed')).json), [ids[1]]);
    assert.deepEqual(idsOf((await get(here.base, '?status=processing')).json), []);
    assert.deepEqual(idsOf((await get(here.base, `?data_source_id=${here.source}&status=completed`)).json), [
      ids[0],
      ids[2],
    ]);
    assert.deepEqual(idsOf((await get(here.base, `?data_source_id=${newId('dataSource')}`)).json), []);
  });

  it('searches names in upper and lower case, newest first on request', async () => {
    const named: string[] = [];
    for (const name of ['Pump 100%.pdf', 'pump_manual.pdf']) named.push(await addDocument(here, [], { name }));
    assert.deepEqual(idsOf((await get(here.base, '?search=PUMP&order=desc')).json), named.toReversed());
    assert.deepEqual(idsOf((await get(here.base, '?search=0%25')).json), [named[0]]);
    assert.deepEqual(idsOf((await get(here.base, `?search=p_m&after=${named[0]}`)).json), [named[1]]);
    const page = (await get(here.base, `?search=pump&order=desc&limit=1&after=${named[1]}`)).json;
    assert.deepEqual([idsOf(page), page.has_more], [[named[0]], false]);
  });

  it('400 for an invalid limit, cursor or filter', async () => {
    const cases = [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['after=doc_1', 'after'],
      ['status=queued', 'status'],
      ['search=', 'search'],
      ['order=new', 'order'],
      ['data_source_id=x', 'data_source_id'],
      ['data_source_id=%00', 'data_source_id'],
    ];
    for (const [query, param] of cases) assertError(await get(here.base, `?${query}`), 400, 'invalid_value', param);
  });
});

describe('/v1/knowledge-bases/{kb_id}/documents/{document_id}', () => {
  it('GET returns all fields', async () => {
    const here = await made();
    const warnings = [{ code: 'text_missing' as const, message: 'Half of it is blank.' }];
    const id = await addDocument(here, ['one', 'two'], { warnings });
    const { status, json } = await get(here.base, `/${id}`);
    assert.equal(status, 200);
    assertSchema(Document, json);
    assert.deepEqual(json, {
      id,
      object: 'document',
      knowledge_base_id: here.base,
      data_source_id: here.source,
      key: null,
      name: 'handbook.md',
      source_type: 'web_crawl',
      source_uri: 'https://example.com',
      mime_type: 'text/markdown',
      bytes: 3_000_000_000,
      content_hash: 'ab',
      chunk_count: 2,
      status: 'completed',
      error: null,
      warnings,
      metadata: { team: 'x' },
      unfilterable_keys: [],
      expires_at: null,
      created_at: 1_763_683_200,
      updated_at: 1_763_683_200,
    });
  });

  it('GET .../chunks lists chunks in text order, with paging', async () => {
    const here = await made();
    const id = await addDocument(here, ['one', 'two', 'three']);
    await addDocument(here, ['other']);
    const first = (await get(here.base, `/${id}/chunks?limit=2`)).json;
    assertSchema(listSchema(Chunk), first);
    const { id: chunk, ...rest } = first.data[0];
    assert.match(chunk, /^chunk_/);
    assert.deepEqual(rest, {
      object: 'chunk',
      document_id: id,
      text: 'one',
      tokens: 2,
      start_index: 0,
      end_index: 3,
      page: 1,
      cells: 'Costs!A2:C9',
      heading_path: ['Top'],
    });
    const second = (await get(here.base, `/${id}/chunks?limit=2&after=${first.last_id}`)).json;
    assert.deepEqual([second.data[0].text, second.data.length, second.has_more], ['three', 1, false]);
    const inRange = async (query: string) =>
      (await get(here.base, `/${id}/chunks?${query}`)).json.data.map(({ text }: { text: string }) => text);
    // All of them begin at 0.
    assert.deepEqual(await inRange('start=4'), ['three']);
    assert.deepEqual(await inRange('end=1&limit=1'), ['one']);
    assert.deepEqual(await inRange('start=5&end=5'), []);
    assertError(await get(here.base, `/${id}/chunks?start=-1`), 400, 'invalid_value', 'start');
    assertError(await get(here.base, `/${id}/chunks?end=0`), 400, 'invalid_value', 'end');
    assertError(await get(here.base, `/${id}/chunks?limit=0`), 400, 'invalid_value', 'limit');
    assertError(await get(here.base, `/${id}/chunks?after=${id}`), 400, 'invalid_value', 'after');
  });

  it('DELETE removes only this document from rows, counts and index', async () => {
    const here = await made();
    const [gone, stays] = [await addDocument(here, ['one', 'two']), await addDocument(here, ['three'])];
    const failed = await addDocument(here, [], { status: 'failed' });
    assert.deepEqual(await countsOf(here), [2, 3, 2]);
    const { status, json } = await api.send('DELETE', `${BASES}/${here.base}/documents/${gone}`);
    assert.equal(status, 200);
    assertSchema(DeletedDocument, json);
    assert.deepEqual(json, { id: gone, object: 'document', deleted: true });
    assertError(await get(here.base, `/${gone}`), 404, 'document_not_found', 'document_id');
    assert.deepEqual([await countsOf(here), await api.deps.chunks.count(here.base)], [[1, 1, 1], 1]);
    await api.send('DELETE', `${BASES}/${here.base}/documents/${failed}`);
    assert.deepEqual([await countsOf(here), await dropped()], [[1, 1, 1], []]);
    assert.equal((await get(here.base, `/${stays}`)).status, 200);
  });

  it('POST .../reprocess queues one sync, for which every document of the item has changed', async () => {
    const here = await made();
    await api.db.execute("update ingestion_jobs set status = 'processing' where data_source_id = $1", [here.source]);
    const common = { itemKey: 'lines.jsonl', extractionHash: 'e' };
    const ids = [
      await addDocument(here, ['one'], { ...common, part: '1' }),
      await addDocument(here, ['two'], { ...common, part: '2' }),
    ];
    const other = await addDocument(here, ['three'], { extractionHash: 'e' });
    const reprocess = () => api.send('POST', `${BASES}/${here.base}/documents/${ids[0]}/reprocess`);
    const { status, json } = await reprocess();
    assertSchema(IngestionJob, json);
    assert.deepEqual([status, json.status, json.data_source_id], [202, 'queued', here.source]);
    assert.equal((await reprocess()).json.id, json.id);
    const rows = await api.db.sql.select().from(documents).where(eq(documents.knowledgeBaseId, here.base));
    const versions = new Map(rows.map((row) => [row.id, [row.fingerprint, row.extractionHash]]));
    for (const id of ids) assert.deepEqual(versions.get(id), ['', null]);
    assert.deepEqual(versions.get(other), ['f', 'e']);
  });

  const routes = [
    ['GET', ''],
    ['GET', '/chunks'],
    ['DELETE', ''],
    ['POST', '/reprocess'],
  ] as const;
  for (const [method, rest] of routes) {
    it(`${method} ...${rest}: 401, 403, and 404 for unknown and foreign ids and other knowledge bases`, async () => {
      const here = await made();
      const id = await addDocument(here, ['one']);
      const send = (base: string, wanted: string, key: string | null = api.key) =>
        api.send(method, `${BASES}/${base}/documents/${wanted}${rest}`, { key });
      assertError(await send(here.base, id, null), 401, 'invalid_api_key');
      const { key } = await api.makeKey({ scopes: ['inference', 'files'] });
      assertError(await send(here.base, id, key), 403, 'insufficient_scope');
      assertError(await send(UNKNOWN_KB, id), 404, 'knowledge_base_not_found', 'kb_id');
      for (const unknown of [UNKNOWN, 'x', 'doc_%00', newId('chunk')]) {
        assertError(await send(here.base, unknown), 404, 'document_not_found', 'document_id');
      }
      assertError(await send(await newBase(), id), 404, 'document_not_found', 'document_id');
      const { key: foreign } = await api.makeKey({ organization: 'foreign' });
      assertError(await send(here.base, id, foreign), 404, 'knowledge_base_not_found', 'kb_id');
      assertError(await send(await newBase(foreign), id, foreign), 404, 'document_not_found', 'document_id');
      assert.equal((await get(here.base, `/${id}`)).status, 200);
    });
  }

  it('the list returns 401, 403 and 404', async () => {
    const base = await newBase();
    assertError(await api.send('GET', `${BASES}/${base}/documents`, { key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await get(base, '', key), 403, 'insufficient_scope');
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await get(base, '', foreign), 404, 'knowledge_base_not_found', 'kb_id');
  });
});

describe('deleting a data source', () => {
  it('removes its documents from rows, counts and index, and no others', async () => {
    const here = await made();
    const body = { type: 'web_crawl', config: { urls: ['https://example.org'] } };
    const other = { ...here, source: (await api.send('POST', `${BASES}/${here.base}/data-sources`, { body })).json.id };
    for (let n = 0; n < 3; n++) await addDocument(here, ['a', 'b']);
    const stays = await addDocument(other, ['c']);
    assert.equal((await api.send('DELETE', `${BASES}/${here.base}/data-sources/${here.source}`)).status, 200);
    assert.deepEqual(idsOf((await get(here.base)).json), [stays]);
    assert.deepEqual([await countsOf(other), await api.deps.chunks.count(here.base)], [[1, 1, 1], 1]);
    assert.deepEqual(await dropped(), []);
  });

  it('removes index entries later when the index fails or the process ends', async () => {
    const here = await made();
    for (let n = 0; n < 2; n++) await addDocument(here, ['a', 'b']);
    const { chunks: index } = api.deps;
    const remove = index.remove.bind(index);
    index.remove = async () => {
      throw new Error('no index now');
    };
    try {
      assert.equal((await api.send('DELETE', `${BASES}/${here.base}/data-sources/${here.source}`)).status, 200);
    } finally {
      index.remove = remove;
    }
    assert.deepEqual([(await dropped()).length, await index.count(here.base)], [2, 4]);
    await purgeTombstones(api.deps);
    assert.deepEqual([await dropped(), await index.count(here.base)], [[], 0]);
    await applyTombstones(api.deps, here.base);
  });

  it('tombstones are deleted with their knowledge base', async () => {
    const here = await made();
    await addDocument(here, ['a']);
    const note = { documentId: newId('document'), knowledgeBaseId: here.base, createdAt: new Date() };
    await api.db.sql.insert(droppedDocuments).values(note);
    assert.equal((await api.send('DELETE', `${BASES}/${here.base}`)).status, 200);
    assert.deepEqual(await dropped(), []);
  });
});
