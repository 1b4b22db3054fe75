import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { encodeForm, sendForm } from '../../../test/forms.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { listSchema } from '../../db/page.ts';
import { fileUses } from '../../files/tables.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { IngestionJob } from '../jobs/schema.ts';

import { ingestionJobs } from '../jobs/tables.ts';
import { DataSource, ListedDataSource } from './schema.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
const BASES = '/v1/knowledge-bases';
const UNKNOWN_KB = 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3';
const UNKNOWN = 'ds_01kaj3v0b8s4x2m6n9p1q5r7t3';

const newBase = async (key = api.key): Promise<string> =>
  (await api.send('POST', BASES, { body: { name: 'Base' }, key })).json.id;
const upload = async (purpose = 'knowledge-base', key = api.key): Promise<string> => {
  const name = purpose === 'batch' ? 'a.jsonl' : 'a.txt';
  const form = encodeForm([
    { name: 'purpose', content: purpose },
    { name: 'file', filename: name, content: '{"a":1}' },
  ]);
  return (await sendForm(`${api.url}/v1/files`, form, { key })).json.id;
};
const create = (base: string, body: object | string, key = api.key) =>
  api.send('POST', `${BASES}/${base}/data-sources`, { body, key });
const crawl = (more: object = {}) => ({ type: 'web_crawl', config: { urls: ['https://example.com'], ...more } });
const statusOf = async (base: string) => (await api.send('GET', `${BASES}/${base}`)).json.status;
const jobsOf = async (source: string) =>
  (await api.db.sql.select().from(ingestionJobs).orderBy(ingestionJobs.id)).filter(
    ({ dataSourceId }) => dataSourceId === source,
  );
const usersOf = async (file: string) =>
  (await api.db.sql.select().from(fileUses)).filter(({ fileId }) => fileId === file).map(({ userId }) => userId);
/** Sets the status of a job as the worker does. */
const setJobs = async (source: string, status: 'processing' | 'completed') => {
  await api.db.execute('update ingestion_jobs set status = $1 where data_source_id = $2', [status, source]);
};

describe('POST /v1/knowledge-bases/{kb_id}/data-sources', () => {
  it('creates a data source in processing, with a job that uses its files', async () => {
    const base = await newBase();
    const [a, b] = [await upload(), await upload()];
    const { status, json } = await create(base, { type: 'file_upload', name: 'Two', config: { file_ids: [a, b, a] } });
    assert.equal(status, 200);
    assertSchema(DataSource, json);
    const { id, created_at, updated_at, ...rest } = json;
    assert.match(id, /^ds_[0-9a-z]{26}$/);
    assert.equal(created_at, updated_at);
    assert.deepEqual(rest, {
      object: 'data_source',
      knowledge_base_id: base,
      type: 'file_upload',
      name: 'Two',
      config: { file_ids: [a, b] },
      status: 'processing',
      document_count: 0,
      last_synced_at: null,
      next_sync_at: null,
      error: null,
    });
    const [job] = await jobsOf(id);
    assert.equal(job?.status, 'queued');
    assert.deepEqual([await usersOf(a), await usersOf(b)], [[job?.id], [job?.id]]);
    assert.equal(await statusOf(base), 'indexing');
    const queued = await api.db.execute("select data from pgboss.job where singleton_key = $1 and state = 'created'", [
      id,
    ]);
    assert.deepEqual(queued.rows, [{ data: { jobId: job?.id } }]);
    assertError(await api.send('DELETE', `/v1/files/${a}`), 409, 'file_in_use', 'file_id');
  });

  it('defaults the name to the type', async () => {
    assert.equal((await create(await newBase(), crawl())).json.name, 'web_crawl');
  });

  const refused: [what: string, body: object | string, code: string, param: string | null][] = [
    ['no type', {}, 'missing_required_field', 'type'],
    ['an unknown type', { type: 'ftp', config: {} }, 'invalid_value', 'type'],
    ['a type that is no text', { type: 1, config: {} }, 'invalid_value', 'type'],
    ['no config', { type: 's3' }, 'missing_required_field', 'config'],
    ['a config that is no object', { type: 's3', config: [] }, 'invalid_value', 'config'],
    ['a config that lacks a field', { type: 'web_crawl', config: {} }, 'missing_required_field', 'config.urls'],
    ['an empty name', { ...crawl(), name: '' }, 'invalid_value', 'name'],
    ['a blank name', { ...crawl(), name: ' ' }, 'invalid_value', 'name'],
    ['a name of 257 characters', { ...crawl(), name: 'x'.repeat(257) }, 'invalid_value', 'name'],
    ['a NUL in the name', { ...crawl(), name: 'a\u0000' }, 'invalid_value', 'name'],
    ['no JSON', '{', 'invalid_json', null],
  ];
  for (const [what, body, code, param] of refused) {
    it(`400 ${code} for ${what}`, async () => assertError(await create(await newBase(), body), 400, code, param));
  }

  it('404 for unknown, malformed and foreign file ids, 400 for files of another purpose', async () => {
    const base = await newBase();
    const { key } = await api.makeKey({ organization: 'with files' });
    const [own, foreign, batch] = [await upload(), await upload('knowledge-base', key), await upload('batch')];
    const files = (...file_ids: string[]) => create(base, { type: 'file_upload', config: { file_ids } });
    for (const id of [newId('file'), 'file-1', '', 'x\u0000', foreign]) {
      const answer = await files(own, own, id);
      if (id.includes('\u0000')) assertError(answer, 400, 'invalid_value', 'config.file_ids.1');
      else assertError(answer, 404, 'file_not_found', 'config.file_ids.2');
    }
    assertError(await files(batch), 400, 'invalid_value', 'config.file_ids.0');
    assert.deepEqual(await usersOf(own), []);
    assert.equal(await statusOf(base), 'active');
  });

  it('404 for an unknown or foreign knowledge base', async () => {
    const { key } = await api.makeKey({ organization: 'foreign' });
    const base = await newBase();
    for (const id of [UNKNOWN_KB, 'nonsense', 'kb_%00']) {
      assertError(await create(id, crawl()), 404, 'knowledge_base_not_found', 'kb_id');
    }
    assertError(await create(base, crawl(), key), 404, 'knowledge_base_not_found', 'kb_id');
  });

  it('creates one data source per Idempotency-Key', async () => {
    const path = `${BASES}/${await newBase()}/data-sources`;
    const send = () => api.send('POST', path, { body: crawl(), headers: { 'idempotency-key': 'ds-once' } });
    const [first, second] = [await send(), await send()];
    assert.equal(first.json.id, second.json.id);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal((await jobsOf(first.json.id)).length, 1);
  });
});

describe('GET /v1/knowledge-bases/{kb_id}/data-sources', () => {
  it('lists the data sources oldest first, without config, with paging', async () => {
    const base = await newBase();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push((await create(base, { ...crawl(), name })).json.id);
    await create(await newBase(), crawl());
    const get = async (query: string) => (await api.send('GET', `${BASES}/${base}/data-sources${query}`)).json;
    const first = await get('?limit=2');
    assertSchema(listSchema(ListedDataSource), first);
    assert.deepEqual([first.data[0].id, first.data[1].id, first.has_more], [ids[0], ids[1], true]);
    const second = await get(`?limit=2&after=${first.last_id}`);
    assert.deepEqual([second.data.map(({ id }: { id: string }) => id), second.has_more], [[ids[2]], false]);
  });

  it('400 for a limit out of bounds and a cursor of another resource', async () => {
    const path = `${BASES}/${await newBase()}/data-sources`;
    for (const limit of [0, 101, 'x']) {
      assertError(await api.send('GET', `${path}?limit=${limit}`), 400, 'invalid_value', 'limit');
    }
    assertError(await api.send('GET', `${path}?after=${UNKNOWN_KB}`), 400, 'invalid_value', 'after');
  });
});

describe('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', () => {
  it('GET returns the same object as POST', async () => {
    const base = await newBase();
    const { json } = await create(base, crawl());
    assert.deepEqual((await api.send('GET', `${BASES}/${base}/data-sources/${json.id}`)).json, json);
  });

  it('POST .../sync returns 202 with a new job, or the queued or running one', async () => {
    const base = await newBase();
    const file = await upload();
    const { id } = (await create(base, { type: 'file_upload', config: { file_ids: [file] } })).json;
    const sync = () => api.send('POST', `${BASES}/${base}/data-sources/${id}/sync`);
    const waiting = await sync();
    assert.equal(waiting.status, 202);
    assertSchema(IngestionJob, waiting.json);
    await setJobs(id, 'processing');
    assert.equal((await sync()).json.id, waiting.json.id);
    await setJobs(id, 'completed');
    await api.db.execute("update data_sources set status = 'active' where id = $1", [id]);
    const anew = await sync();
    assert.notEqual(anew.json.id, waiting.json.id);
    assert.equal(anew.json.status, 'queued');
    assert.ok((await usersOf(file)).includes(anew.json.id));
    assert.equal((await api.send('GET', `${BASES}/${base}/data-sources/${id}`)).json.status, 'processing');
  });

  it('DELETE removes it with its jobs, releases its files, and sets the knowledge base to active', async () => {
    const base = await newBase();
    const file = await upload();
    const { id } = (await create(base, { type: 'file_upload', config: { file_ids: [file] } })).json;
    await setJobs(id, 'processing');
    const { status, json } = await api.send('DELETE', `${BASES}/${base}/data-sources/${id}`);
    assert.equal(status, 200);
    assert.deepEqual(json, { id, object: 'data_source', deleted: true });
    assertError(await api.send('GET', `${BASES}/${base}/data-sources/${id}`), 404, 'data_source_not_found', 'ds_id');
    assert.deepEqual([await jobsOf(id), await usersOf(file), await statusOf(base)], [[], [], 'active']);
    assert.equal((await api.send('DELETE', `/v1/files/${file}`)).status, 200);
  });

  it('deleting the knowledge base releases its files', async () => {
    const base = await newBase();
    const file = await upload();
    await create(base, { type: 'file_upload', config: { file_ids: [file] } });
    assert.equal((await usersOf(file)).length, 1);
    assert.equal((await api.send('DELETE', `${BASES}/${base}`)).status, 200);
    assert.deepEqual(await usersOf(file), []);
  });

  it('POST .../sync queues one job per Idempotency-Key', async () => {
    const base = await newBase();
    const { id } = (await create(base, crawl())).json;
    const path = `${BASES}/${base}/data-sources/${id}/sync`;
    const send = async () => {
      await setJobs(id, 'completed');
      return api.send('POST', path, { headers: { 'idempotency-key': 'sync-once' } });
    };
    const [first, second] = [await send(), await send()];
    assert.deepEqual([second.status, second.json], [202, first.json]);
    assert.equal((await jobsOf(id)).length, 2);
  });

  it('DELETE keeps the status that jobs of other data sources give the knowledge base', async () => {
    const base = await newBase();
    const [failed, gone] = [(await create(base, crawl())).json.id, (await create(base, crawl())).json.id];
    await api.db.execute("update ingestion_jobs set status = 'failed' where data_source_id = $1", [failed]);
    await api.send('DELETE', `${BASES}/${base}/data-sources/${gone}`);
    assert.equal(await statusOf(base), 'error');
    const running = (await create(base, crawl())).json.id;
    await api.send('DELETE', `${BASES}/${base}/data-sources/${failed}`);
    assert.equal(await statusOf(base), 'indexing');
    await api.send('DELETE', `${BASES}/${base}/data-sources/${running}`);
    assert.equal(await statusOf(base), 'active');
  });
});

describe('PATCH /v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', () => {
  const made = async (body: object) => {
    const base = await newBase();
    const source = (await create(base, body)).json;
    await setJobs(source.id, 'completed');
    await api.db.execute("update data_sources set status = 'active' where id = $1", [source.id]);
    return { ...source, status: 'active', path: `${BASES}/${base}/data-sources/${source.id}` };
  };
  const patch = (path: string, body: object) => api.send('PATCH', path, { body });

  it('changes the name without a sync', async () => {
    const { path, id } = await made(crawl());
    for (const body of [{ name: 'New' }, { name: 'New', config: {} }, { config: { max_pages: 100 } }]) {
      const { status, json } = await patch(path, body);
      assert.equal(status, 200);
      assertSchema(DataSource, json);
      assert.deepEqual([json.name, json.status, (await jobsOf(id)).length], ['New', 'active', 1]);
    }
  });

  it('merges the config, removes null fields, and starts a sync', async () => {
    const given = { max_pages: 7, include_patterns: ['https://example.com/**'], metadata: { a: 1, b: 2 } };
    const { path, id } = await made(crawl(given));
    const changes = { max_pages: null, include_patterns: null, max_depth: 1, metadata: { a: null, c: 3 } };
    const { json } = await patch(path, { config: changes });
    assert.deepEqual(json.config, {
      urls: ['https://example.com'],
      max_depth: 1,
      max_pages: 100,
      metadata: { b: 2, c: 3 },
    });
    assert.equal(json.status, 'processing');
    assert.deepEqual((await api.send('GET', path)).json, json);
    assert.deepEqual(
      (await jobsOf(id)).map(({ status }) => status),
      ['completed', 'queued'],
    );
  });

  it('queues behind a running job and reuses a queued one', async () => {
    const { path, id } = await made(crawl());
    await setJobs(id, 'processing');
    for (const max_depth of [5, 6]) await patch(path, { config: { max_depth } });
    assert.deepEqual(
      (await jobsOf(id)).map(({ status }) => status),
      ['processing', 'queued'],
    );
  });

  it('replaces files, uses them, and rejects those that POST rejects', async () => {
    const [a, b, batch] = [await upload(), await upload(), await upload('batch')];
    const { path, id } = await made({ type: 'file_upload', config: { file_ids: [a] } });
    assertError(
      await patch(path, { config: { file_ids: [a, newId('file')] } }),
      404,
      'file_not_found',
      'config.file_ids.1',
    );
    assertError(await patch(path, { config: { file_ids: [batch] } }), 400, 'invalid_value', 'config.file_ids.0');
    assert.deepEqual((await api.send('GET', path)).json.config, { file_ids: [a] });
    const { json } = await patch(path, { config: { file_ids: [b] } });
    assert.deepEqual(json.config, { file_ids: [b] });
    const waiting = (await jobsOf(id)).find(({ status }) => status === 'queued');
    assert.deepEqual(await usersOf(b), [waiting?.id]);
  });

  it('ignores files that were deleted since', async () => {
    const [a, b] = [await upload(), await upload()];
    const { path, id } = await made({ type: 'file_upload', config: { file_ids: [a, b] } });
    await api.db.execute('delete from file_uses');
    assert.equal((await api.send('DELETE', `/v1/files/${a}`)).status, 200);
    const { status } = await patch(path, { config: { metadata: { team: 'x' } } });
    assert.equal(status, 200);
    const waiting = (await jobsOf(id)).find(({ status }) => status === 'queued');
    assert.deepEqual(await usersOf(b), [waiting?.id]);
  });

  it('400 for an invalid config and for another type, without changes', async () => {
    const { path, ...source } = await made(crawl());
    const cases: [object, string, string?][] = [
      [{ type: 's3' }, 'type'],
      [{ name: '' }, 'name'],
      [{ config: [] }, 'config'],
      [{ config: { max_depth: 21 } }, 'config.max_depth'],
      [{ config: { urls: null } }, 'config.urls', 'missing_required_field'],
      [{ name: 'New', config: { urls: ['ftp://a'] } }, 'config.urls.0'],
    ];
    for (const [body, param, code = 'invalid_value'] of cases) assertError(await patch(path, body), 400, code, param);
    assert.deepEqual((await api.send('GET', path)).json, source);
  });
});

describe('all routes of data sources', () => {
  const routes = [
    ['GET', ''],
    ['POST', '', crawl()],
    ['GET', `/${UNKNOWN}`],
    ['PATCH', `/${UNKNOWN}`, { name: 'x' }],
    ['DELETE', `/${UNKNOWN}`],
    ['POST', `/${UNKNOWN}/sync`],
  ] as const;
  for (const [method, rest, body] of routes) {
    it(`${method} ...${rest}: 401 without a key, 403 without the scope, 404 for unknown and foreign ids`, async () => {
      const base = await newBase();
      const { id } = (await create(base, crawl())).json;
      const send = (path: string, key: string | null = api.key) => api.send(method, `${BASES}/${path}`, { body, key });
      const here = `/data-sources${rest}`;
      assertError(await send(base + here, null), 401, 'invalid_api_key');
      const { key } = await api.makeKey({ scopes: ['inference', 'files', 'guardrails', 'admin'] });
      assertError(await send(base + here, key), 403, 'insufficient_scope');
      assertError(await send(UNKNOWN_KB + here), 404, 'knowledge_base_not_found', 'kb_id');
      const { key: foreign } = await api.makeKey({ organization: 'foreign' });
      const own = here.replace(UNKNOWN, id);
      assertError(await send(base + own, foreign), 404, 'knowledge_base_not_found', 'kb_id');
      if (!rest.includes(UNKNOWN)) return;
      // Nor through the caller's own knowledge base.
      assertError(await send((await newBase(foreign)) + own, foreign), 404, 'data_source_not_found', 'ds_id');
      for (const unknown of [UNKNOWN, 'nonsense', 'ds_%00', newId('file')]) {
        assertError(await send(base + own.replace(id, unknown)), 404, 'data_source_not_found', 'ds_id');
      }
      assertError(await send((await newBase()) + own), 404, 'data_source_not_found', 'ds_id');
      assert.equal((await api.send('GET', `${BASES}/${base}/data-sources/${id}`)).status, 200);
    });
  }
});

describe('a key with limited scopes or models', () => {
  const sync = (base: string, source: string, key: string) =>
    api.send('POST', `${BASES}/${base}/data-sources/${source}/sync`, { key });
  const patch = (base: string, source: string, body: object, key: string) =>
    api.send('PATCH', `${BASES}/${base}/data-sources/${source}`, { body, key });

  it('403 naming config.file_ids without the scope files, in POST and PATCH', async () => {
    const base = await newBase();
    const file_ids = [await upload()];
    const { key } = await api.makeKey({ scopes: ['knowledge'] });
    const files = { type: 'file_upload', config: { file_ids } };
    assertError(await create(base, files, key), 403, 'insufficient_scope', 'config.file_ids');
    const { id } = (await create(base, files)).json;
    assertError(await patch(base, id, { config: { file_ids } }, key), 403, 'insufficient_scope', 'config.file_ids');
    assert.equal((await jobsOf(id)).length, 1);
    // A sync without new files needs no scope for files.
    assert.equal((await patch(base, id, { name: 'Renamed' }, key)).status, 200);
    assert.equal((await sync(base, id, key)).status, 202);
    assert.equal((await create(base, crawl(), key)).status, 200);
    const both = await api.makeKey({ scopes: ['knowledge', 'files'] });
    assert.equal((await create(base, files, both.key)).status, 200);
  });

  it('403 for a key limited to models without the embedding model, on every route that embeds', async () => {
    const base = await newBase();
    const { id } = (await create(base, crawl())).json;
    await setJobs(id, 'completed');
    const { key } = await api.makeKey({ models: ['general-8b'] });
    const embed = { model: 'embed-large-en-v1.5', input: 'x' };
    assertError(await api.send('POST', '/v1/embeddings', { body: embed, key }), 403, 'insufficient_scope', 'model');
    const create403 = await api.send('POST', BASES, { body: { name: 'Base' }, key });
    assertError(create403, 403, 'insufficient_scope', 'embedding_model');
    assertError(await create(base, crawl(), key), 403, 'insufficient_scope', 'kb_id');
    const config = { urls: ['https://example.org'] };
    assertError(await patch(base, id, { config }, key), 403, 'insufficient_scope', 'kb_id');
    assert.equal((await patch(base, id, { name: 'Renamed' }, key)).status, 200);
    assertError(await sync(base, id, key), 403, 'insufficient_scope', 'kb_id');
    assert.equal((await jobsOf(id)).length, 1);
  });

  it('403 for a retrieval that embeds the query; keyword search is allowed', async () => {
    const base = await newBase();
    const { key } = await api.makeKey({ models: ['general-8b'] });
    const retrieve = (search_type: string, as = key) =>
      api.send('POST', `${BASES}/${base}/retrieve`, { body: { query: 'x', search_type }, key: as });
    for (const type of ['hybrid', 'vector', 'semantic']) {
      assertError(await retrieve(type), 403, 'insufficient_scope', 'kb_id');
    }
    assert.equal((await retrieve('keyword')).status, 200);
    const allowed = await api.makeKey({ models: ['embed-large-en-v1.5'] });
    assert.equal((await retrieve('vector', allowed.key)).status, 200);
    const calls = api.engine.calls.length;
    const messages = [{ role: 'user', content: 'x' }];
    const chat = { model: 'general-8b', messages, knowledge_bases: [base] };
    const answer = await api.send('POST', '/v1/chat/completions', { body: chat, key });
    assertError(answer, 403, 'insufficient_scope', 'knowledge_bases.0');
    assert.equal(api.engine.calls.length, calls);
  });
});
