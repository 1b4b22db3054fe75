import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { eq, isNotNull } from 'drizzle-orm';
import { withDeadline } from '../../../test/deadline.ts';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { plainExtractor } from '../../../test/ingestion.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { newId } from '../../lib/ids.ts';
import { purgeExpiredDocuments } from '../../retention/purge-expired-documents.ts';
import { openSource } from '../data-sources/source-config.ts';
import { DeletedKey, PostedDocument } from '../documents/schema.ts';
import { documents, droppedDocuments, postedDocuments } from '../documents/tables.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { ingestSource } from './ingest-source.ts';

const engine = recordingEmbedder();
after(() => engine.close());
let clock = Date.now;
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], now: () => clock() });
const { signal } = new AbortController();
afterEach(() => {
  clock = Date.now;
});
const path = (base: string, rest = '') => `/v1/knowledge-bases/${base}/documents${rest}`;

/** A new knowledge base, and what the tests do with it. */
async function makeBase() {
  const { id } = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json;
  const post = (body: object, options: object = {}) => api.send('POST', path(id), { body, ...options });
  const run = (jobId: string) =>
    ingestSource(
      {
        ...api.deps,
        extractor: plainExtractor,
        renderer: null,
        archives: null,
        itemSemaphore: new FairSemaphore({ total: 4, perGroup: 3 }),
        openSource: (source) => openSource(api.deps, source),
      },
      jobId,
      signal,
    );
  return {
    id: id as string,
    post,
    run,
    /** Posts and ingests; returns the response to the post. */
    put: async (body: object) => {
      const { json } = await post(body);
      await run(json.ingestion_job_id);
      return json;
    },
    list: async (query = '') => (await api.send('GET', path(id, query))).json.data,
    find: async (query: string, more: object = {}): Promise<string[]> => {
      const body = { query, search_type: 'keyword', ...more };
      const { json } = await api.send('POST', `/v1/knowledge-bases/${id}/retrieve`, { body });
      return json.results.map(({ text }: { text: string }) => text);
    },
    /** Keys with stored contents. */
    posted: async () => {
      const { data } = (await api.send('GET', `/v1/knowledge-bases/${id}/data-sources`)).json;
      const rows = await api.db.sql.select().from(postedDocuments).where(eq(postedDocuments.dataSourceId, data[0].id));
      return rows.map(({ key }) => key);
    },
    counts: async () => {
      const { json } = await api.send('GET', `/v1/knowledge-bases/${id}`);
      return [json.document_count, json.chunk_count, await api.deps.chunks.count(id)];
    },
  };
}

const upload = async (name: string, content: string, key = api.key): Promise<string> => {
  const form = new FormData();
  form.append('purpose', 'knowledge-base');
  form.append('file', new Blob([content]), name);
  return send(form, key);
};
async function send(form: FormData, key = api.key): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${api.url}/v1/files`, { method: 'POST', headers, body: form });
  return ((await response.json()) as { id: string }).id;
}

describe('POST /v1/knowledge-bases/{kb_id}/documents', () => {
  it('202 with the document and its job; searches return it with its metadata when that has run', async () => {
    const kb = await makeBase();
    const key = `policies/O'Brien "refunds" 100%`;
    const metadata = { team: { name: 'x' }, words: 0 };
    const { status, json } = await kb.post({ key, text: 'Granite is a stone.', title: 'Stones', metadata });
    assertSchema(PostedDocument, json);
    assert.deepEqual(
      [status, json.key, json.name, json.status, json.source_type, json.expires_at],
      [202, key, 'Stones', 'processing', 'api', null],
    );
    assert.deepEqual(await kb.counts(), [0, 0, 0]);
    await kb.run(json.ingestion_job_id);
    assert.deepEqual(await kb.find('stone', { filters: { metadata: { 'team.name': 'x', words: 0 } } }), [
      'Granite is a stone.',
    ]);
    assert.deepEqual(await kb.find('stone', { filters: { source_type: 'api' } }), ['Granite is a stone.']);
    const [document] = await kb.list(`?key=${encodeURIComponent(key)}`);
    assert.deepEqual([document.id, document.status, await kb.counts()], [json.id, 'completed', [1, 1, 1]]);
    const { json: job } = await api.send('GET', `/v1/knowledge-bases/${kb.id}/ingestion-jobs/${json.ingestion_job_id}`);
    assert.deepEqual([job.status, job.documents_new, job.documents_modified], ['completed', 1, 0]);
    const { data } = (await api.send('GET', `/v1/knowledge-bases/${kb.id}/data-sources`)).json;
    assert.deepEqual([data.length, data[0].type, data[0].document_count, data[0].status], [1, 'api', 1, 'active']);
  });

  it('replaces the document of the key under the same id, and no other', async () => {
    const kb = await makeBase();
    const first = await kb.put({ key: 'a', text: 'Granite is a stone.' });
    await kb.put({ key: 'b', text: 'Basalt is a stone.' });
    const second = await kb.put({ key: 'a', text: 'Marble is a stone.', format: 'markdown' });
    assert.deepEqual([second.id, second.status], [first.id, 'completed']);
    assert.deepEqual((await kb.find('stone')).toSorted(), ['Basalt is a stone.', 'Marble is a stone.']);
    assert.deepEqual(await kb.counts(), [2, 2, 2]);
  });

  it('200 without a job for an unchanged document; embeds nothing again when only other fields change', async () => {
    const kb = await makeBase();
    const posted = { key: 'a', text: 'Granite is a stone.', metadata: { team: 'x' } };
    const first = await kb.put(posted);
    engine.embedded.length = 0;
    const { status, json } = await kb.post(posted);
    assertSchema(PostedDocument, json);
    assert.deepEqual([status, json.id, json.ingestion_job_id, json.status], [200, first.id, null, 'completed']);
    await kb.put({ ...posted, metadata: { team: 'y' }, title: 'Stone' });
    assert.deepEqual(engine.embedded, []);
    assert.deepEqual(await kb.find('stone', { filters: { metadata: { team: 'y' }, document_name: 'Stone' } }), [
      'Granite is a stone.',
    ]);
  });

  it('a search during the replacement returns the old version until the rows are committed, then the new one', async (t) => {
    const kb = await makeBase();
    await kb.put({ key: 'a', text: 'Granite is a stone.' });
    const { json } = await kb.post({ key: 'a', text: 'Marble is a stone.' });
    const { replace, removeChunks } = api.deps.chunks;
    const seen: string[][] = [];
    t.mock.method(api.deps.chunks, 'replace', async (...args: Parameters<typeof replace>) => {
      const replaced = await replace.apply(api.deps.chunks, args);
      seen.push(await kb.find('stone'));
      return replaced;
    });
    t.mock.method(api.deps.chunks, 'removeChunks', async (...args: Parameters<typeof removeChunks>) => {
      seen.push(await kb.find('stone'));
      return removeChunks.apply(api.deps.chunks, args);
    });
    await kb.run(json.ingestion_job_id);
    assert.deepEqual(seen, [['Granite is a stone.'], ['Marble is a stone.']]);
    assert.deepEqual(await kb.counts(), [1, 1, 1]);
  });

  it('a search that began before the replacement and ends after it returns the new version', async (t) => {
    const kb = await makeBase();
    await kb.put({ key: 'a', text: 'Granite is a stone.' });
    const { json } = await kb.post({ key: 'a', text: 'Marble is a stone.' });
    const { search } = api.deps.chunks;
    const held = t.mock.method(api.deps.chunks, 'search', async (...args: Parameters<typeof search>) => {
      const hits = await search.apply(api.deps.chunks, args);
      held.mock.restore();
      await kb.run(json.ingestion_job_id);
      return hits;
    });
    assert.deepEqual(await kb.find('stone'), ['Marble is a stone.']);
  });

  it('a search returns the last version of a document that is replaced again while the search is repeated', async (t) => {
    const kb = await makeBase();
    await kb.put({ key: 'a', text: 'Stone 0.' });
    const { search } = api.deps.chunks;
    let replacements = 0;
    t.mock.method(api.deps.chunks, 'search', async (...args: Parameters<typeof search>) => {
      const hits = await search.apply(api.deps.chunks, args);
      if (replacements < 3) {
        replacements += 1;
        await kb.put({ key: 'a', text: `Stone ${replacements}.` });
      }
      return hits;
    });
    assert.deepEqual(await kb.find('stone'), ['Stone 3.']);
  });

  it('a search is not repeated for a hit whose document was deleted', async (t) => {
    const kb = await makeBase();
    await kb.put({ key: 'a', text: 'Granite is a stone.' });
    const [document] = await kb.list();
    const { search } = api.deps.chunks;
    // The index keeps the chunks of the deleted document.
    t.mock.method(api.deps.chunks, 'remove', async () => {});
    await api.send('DELETE', path(kb.id, `/${document.id}`));
    const searches = t.mock.method(api.deps.chunks, 'search', search);
    assert.deepEqual(await kb.find('stone'), []);
    assert.equal(searches.mock.callCount(), 2);
  });

  it('a run that was killed between index and rows is repeated without a trace', async (t) => {
    const kb = await makeBase();
    await kb.put({ key: 'a', text: 'Granite is a stone.' });
    const { json } = await kb.post({ key: 'a', text: 'Marble is a stone.' });
    const { replace } = api.deps.chunks;
    const written = Promise.withResolvers<void>();
    const killed = t.mock.method(api.deps.chunks, 'replace', async (...args: Parameters<typeof replace>) => {
      killed.mock.restore();
      await replace.apply(api.deps.chunks, args);
      written.resolve();
      return new Promise<string[]>(() => {});
    });
    void kb.run(json.ingestion_job_id);
    await withDeadline('the write of the index', written.promise);
    assert.equal(await api.deps.chunks.count(kb.id), 2);
    assert.deepEqual(await kb.find('stone'), ['Granite is a stone.']);
    await kb.run(json.ingestion_job_id);
    assert.deepEqual([await kb.find('stone'), await kb.counts()], [['Marble is a stone.'], [1, 1, 1]]);
  });

  it('a file of several documents becomes one document for each; a text replaces them all', async () => {
    const kb = await makeBase();
    const file = await upload('stones.txt', 'Granite is a stone.|Marble is a stone.');
    const { name, source_uri } = await kb.put({ key: 'a', file_id: file });
    assert.deepEqual([name, source_uri], ['stones.txt', file]);
    const parts = await kb.list('?key=a');
    assert.deepEqual(
      parts.map((part: { source_uri: string; status: string }) => `${part.source_uri} ${part.status}`).toSorted(),
      [1, 2].map((part) => `${file}#${part} completed`),
    );
    const again = await kb.post({
      key: 'a',
      file_id: await upload('stones.txt', 'Granite is a stone.|Marble is a stone.'),
    });
    assert.deepEqual([again.status, again.json.ingestion_job_id], [200, null], 'the same content in another file');
    await kb.put({ key: 'a', text: 'Basalt is a stone.' });
    assert.deepEqual([await kb.find('stone'), await kb.counts()], [['Basalt is a stone.'], [1, 1, 1]]);
  });

  it('a failed document keeps its error, and the same post tries it again', async () => {
    const kb = await makeBase();
    const failing = { key: 'a', text: '!' };
    await kb.put(failing);
    const [{ status, error }] = await kb.list('?key=a');
    assert.deepEqual([status, error.code], ['failed', 'invalid_file']);
    assert.equal((await kb.post(failing)).status, 202);
  });

  it('keeps the file until the job has ended, and the document when it is deleted then', async () => {
    const kb = await makeBase();
    const file = await upload('stone.txt', 'Granite is a stone.');
    const { json } = await kb.post({ key: 'a', file_id: file });
    const remove = () => api.send('DELETE', `/v1/files/${file}`);
    assertError(await remove(), 409, 'file_in_use', 'file_id');
    await kb.run(json.ingestion_job_id);
    assert.equal((await remove()).status, 200);
    await kb.put({ key: 'b', text: 'Marble is a stone.' });
    assert.equal((await kb.find('stone')).length, 2);
  });

  it('400 naming the field', async () => {
    const kb = await makeBase();
    const text = 'Granite.';
    const past = Math.floor(Date.now() / 1000);
    const cases: [body: object, param: string, code?: string][] = [
      [{ text }, 'key', 'missing_required_field'],
      [{ key: '', text }, 'key'],
      [{ key: ' ', text }, 'key'],
      [{ key: 'a'.repeat(513), text }, 'key'],
      [{ key: 'a\u0000', text }, 'key'],
      [{ key: 'a\ud800', text }, 'key'],
      [{ key: 'a' }, 'text', 'missing_required_field'],
      [{ key: 'a', text: ' \n' }, 'text'],
      [{ key: 'a', text: 'a\u0000' }, 'text'],
      [{ key: 'a', text: `${'ä'.repeat(2_097_152)}a` }, 'text'],
      [{ key: 'a', text, format: 'pdf' }, 'format'],
      [{ key: 'a', text, file_id: newId('file') }, 'file_id'],
      [{ key: 'a', file_id: newId('file'), format: 'text' }, 'format'],
      [{ key: 'a', text, title: ' ' }, 'title'],
      [{ key: 'a', text, metadata: { a: 'x'.repeat(65_536) } }, 'metadata'],
      [{ key: 'a', text, expires_at: past }, 'expires_at'],
      [{ key: 'a', text, expires_at: 1.5 }, 'expires_at'],
      [{ key: 'a', text, expires_at: 253_402_300_800 }, 'expires_at'],
    ];
    for (const [body, param, code = 'invalid_value'] of cases) assertError(await kb.post(body), 400, code, param);
    const batch = new FormData();
    batch.append('purpose', 'batch');
    batch.append('file', new Blob(['{}']), 'a.jsonl');
    assertError(await kb.post({ key: 'a', file_id: await send(batch) }), 400, 'invalid_value', 'file_id');
    const edges = { key: 'ä'.repeat(512), text: 'ä'.repeat(2_097_152), expires_at: past };
    clock = () => past * 1000 - 1;
    assert.equal((await kb.post(edges)).status, 202);
    assert.equal((await kb.list()).length, 1);
  });

  it('401, 403 and 404 for unknown and foreign ids', async () => {
    const kb = await makeBase();
    const body = { key: 'a', text: 'Granite.' };
    const file = await upload('a.txt', 'Granite.');
    assertError(await kb.post(body, { key: null }), 401, 'invalid_api_key');
    const { key: inference } = await api.makeKey({ scopes: ['inference'] });
    assertError(await kb.post(body, { key: inference }), 403, 'insufficient_scope');
    const { key: withoutFiles } = await api.makeKey({ scopes: ['knowledge'] });
    assertError(
      await kb.post({ key: 'a', file_id: file }, { key: withoutFiles }),
      403,
      'insufficient_scope',
      'file_id',
    );
    const { key: withoutModel } = await api.makeKey({ scopes: ['knowledge'], models: ['general-8b'] });
    assert.equal((await kb.post(body, { key: withoutModel })).status, 403);
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await kb.post(body, { key: foreign }), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(await kb.post({ key: 'a', file_id: 'x' }), 404, 'file_not_found', 'file_id');
    const theirs = await upload('a.txt', 'Granite.', foreign);
    assertError(await kb.post({ key: 'a', file_id: theirs }), 404, 'file_not_found', 'file_id');
    assert.deepEqual(await kb.list(), []);
  });

  it('the data source of posted documents cannot be created, only renamed and deleted', async () => {
    const kb = await makeBase();
    const sources = `/v1/knowledge-bases/${kb.id}/data-sources`;
    const created = await api.send('POST', sources, { body: { type: 'api', config: {} } });
    assertError(created, 400, 'invalid_value', 'type');
    const { data_source_id: id } = await kb.put({ key: 'a', text: 'Granite is a stone.' });
    const patch = (body: object) => api.send('PATCH', `${sources}/${id}`, { body });
    assertError(await patch({ config: { metadata: {} } }), 400, 'invalid_value', 'config.metadata');
    assert.equal((await patch({ name: 'Wiki' })).json.name, 'Wiki');
    const { json: job } = await api.send('POST', `${sources}/${id}/sync`);
    await kb.run(job.id);
    assert.equal((await kb.find('stone')).length, 1, 'a sync deletes nothing');
    await api.send('DELETE', `${sources}/${id}`);
    assert.deepEqual(
      [await kb.counts(), await api.db.sql.$count(postedDocuments, eq(postedDocuments.dataSourceId, id))],
      [[0, 0, 0], 0],
    );
  });
});

describe('DELETE /v1/knowledge-bases/{kb_id}/documents?key=', () => {
  let kb: Awaited<ReturnType<typeof makeBase>>;
  before(async () => {
    kb = await makeBase();
  });
  const remove = (key: string, options: object = {}) =>
    api.send('DELETE', path(kb.id, `?key=${encodeURIComponent(key)}`), options);

  it('deletes the document, also while a job ingests it', async () => {
    await kb.put({ key: 'a&b', text: 'Granite is a stone.' });
    const { json: posted } = await kb.post({ key: 'a&b', text: 'Marble is a stone.|Basalt is a stone.' });
    const { status, json } = await remove('a&b');
    assertSchema(DeletedKey, json);
    assert.deepEqual([status, json.key, json.document_ids], [200, 'a&b', [posted.id]]);
    assert.deepEqual(await kb.find('stone'), []);
    await kb.run(posted.ingestion_job_id);
    assert.deepEqual([await kb.list(), await kb.counts(), await kb.posted()], [[], [0, 0, 0], []]);
  });

  it('deletes the parts that a running job writes after it', async (t) => {
    const { json } = await kb.post({ key: 'late', text: 'Marble is a stone.|Basalt is a stone.' });
    const { replace } = api.deps.chunks;
    const held = t.mock.method(api.deps.chunks, 'replace', async (...args: Parameters<typeof replace>) => {
      held.mock.restore();
      await remove('late');
      return replace.apply(api.deps.chunks, args);
    });
    await kb.run(json.ingestion_job_id);
    assert.deepEqual([await kb.list(), await kb.counts()], [[], [0, 0, 0]]);
  });

  it('DELETE by id forgets the content with the last document', async () => {
    const { id, ingestion_job_id } = await kb.put({ key: 'c', text: 'Granite is a stone.' });
    await api.send('DELETE', path(kb.id, `/${id}`));
    assert.deepEqual(await kb.posted(), []);
    const again = await kb.put({ key: 'c', text: 'Granite is a stone.' });
    assert.notEqual(again.ingestion_job_id, ingestion_job_id);
    assert.equal((await kb.find('stone')).length, 1);
  });

  it('400, 401, 403 and 404', async () => {
    assertError(await api.send('DELETE', path(kb.id)), 400, 'missing_required_field', 'key');
    assertError(await api.send('DELETE', path(kb.id, '?key=')), 400, 'invalid_value', 'key');
    assertError(await api.send('GET', path(kb.id, '?key=%00')), 400, 'invalid_value', 'key');
    assertError(await remove('c', { key: null }), 401, 'invalid_api_key');
    const { key: inference } = await api.makeKey({ scopes: ['inference'] });
    assertError(await remove('c', { key: inference }), 403, 'insufficient_scope');
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await remove('c', { key: foreign }), 404, 'knowledge_base_not_found', 'kb_id');
    for (const unknown of ['x', '\0']) assertError(await remove(unknown), 404, 'document_not_found', 'key');
    const other = await makeBase();
    await other.put({ key: 'only there', text: 'Granite.' });
    assertError(await remove('only there'), 404, 'document_not_found', 'key');
  });
});

describe('expiry of documents', () => {
  const seconds = () => Math.floor(Date.now() / 1000);

  it('searches do not return a document from its second on; the purge deletes it with its content', async (t) => {
    const kb = await makeBase();
    const expires_at = seconds() + 3600;
    await kb.put({ key: 'a', text: 'Granite is a stone.', expires_at });
    await kb.put({ key: 'b', text: 'Marble is a stone.' });
    clock = () => expires_at * 1000 - 1;
    assert.equal((await kb.find('stone')).length, 2);
    clock = () => expires_at * 1000;
    assert.deepEqual(await kb.find('stone', { top_k: 1 }), ['Marble is a stone.'], 'the next hit takes its place');
    const searches = t.mock.method(api.deps.chunks, 'search');
    assert.deepEqual(await kb.find('granite'), []);
    assert.equal(searches.mock.callCount(), 1, 'an expired document is no reason to search again');
    // Tombstones take effect by the clock of the database.
    const past = Date.now() - 1000;
    await api.db.sql
      .update(documents)
      .set({ expiresAt: new Date(past) })
      .where(isNotNull(documents.expiresAt));
    const purge = (nowMs: number) => purgeExpiredDocuments({ ...api.deps, now: () => nowMs }, signal);
    await purge(past - 1);
    assert.equal((await kb.list()).length, 2);
    await Promise.all([purge(past), purge(past)]);
    assert.deepEqual([(await kb.list()).length, await kb.counts()], [1, [1, 1, 1]]);
    assert.deepEqual([await kb.posted(), await api.db.sql.select().from(droppedDocuments)], [['b'], []]);
  });

  it('changes at once with a post, before the job has run, and embeds nothing again', async () => {
    const kb = await makeBase();
    const document = { key: 'a', text: 'Granite is a stone.' };
    await kb.put({ ...document, expires_at: seconds() + 60 });
    engine.embedded.length = 0;
    const expires_at = seconds() + 3600;
    const { json } = await kb.post({ ...document, expires_at });
    assert.equal(json.expires_at, expires_at);
    clock = () => (expires_at - 1) * 1000;
    assert.equal((await kb.find('stone')).length, 1);
    await kb.run(json.ingestion_job_id);
    assert.deepEqual([(await kb.list())[0].expires_at, engine.embedded], [expires_at, []]);
    await kb.put(document);
    assert.equal((await kb.list())[0].expires_at, null);
  });

  it('a post wins over a purge that has selected the document before', async (t) => {
    const kb = await makeBase();
    const expires_at = seconds() + 60;
    const { id } = await kb.put({ key: 'a', text: 'Granite is a stone.', expires_at });
    clock = () => expires_at * 1000;
    const { transaction } = api.deps.db.sql;
    const held = t.mock.method(api.deps.db.sql, 'transaction', async (...args: Parameters<typeof transaction>) => {
      held.mock.restore();
      await api.db.sql.update(documents).set({ expiresAt: null }).where(eq(documents.id, id));
      return transaction.apply(api.deps.db.sql, args);
    });
    await purgeExpiredDocuments(api.deps, signal);
    assert.equal((await kb.find('stone')).length, 1);
  });
});
