import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ArchiveEntry, sendArchive, splitArchive } from '../../../test/archives.ts';
import { until } from '../../../test/deadline.ts';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { encodeForm, sendForm } from '../../../test/forms.ts';
import { type Answer, assertError, assertSchema, startApi, type TestApi } from '../../../test/harness.ts';
import { changeChunks, changeValues, damageContainer } from '../../../test/hostile-archives.ts';
import { newId } from '../../lib/ids.ts';
import { encryptConfig } from '../data-sources/source-config.ts';
import { insertDataSource } from '../data-sources/store.ts';
import { type IngestionWorker, startIngestion } from '../ingestion/ingestion-worker.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { deleteArchive, importSource } from './import-source.ts';
import { ImportedKnowledgeBase } from './schema.ts';

const BASES = '/v1/knowledge-bases';
const TEXTS = {
  'harbour.txt': 'The harbour opens at seven. "Quoted" text, ราคา 😀 and a tab\there.',
  'notes/ferry "west".md': '# Ferry\n\nThe ferry leaves at nine.\n\n# Bells\n\nThe night bell rings at four.',
};
const LINES = [
  '{"text": "The first line is about whales.", "topic": "sea"}',
  '{"text": "The second line is about larks."}',
];

describe('archives of knowledge bases', () => {
  const embedder = recordingEmbedder();
  let suffix = '';
  const engine = { ...embedder, fingerprint: () => embedder.fingerprint() + suffix };
  const dataDir = mkdtempSync(join(tmpdir(), 'quire-archive-'));
  let api: TestApi;
  let worker: IngestionWorker;
  let close = async () => {};
  let baseId = '';
  let archive: Buffer;
  let entries: ArchiveEntry[] = [];
  let other: { key: string };
  before(async () => {
    ({ api, close } = await startApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], config: { dataDir } }));
    worker = startIngestion(api.deps, { importSource, deleteArchive });
    api.deps.jobs.work(INGEST_SOURCE, worker.run);
    other = await api.makeKey({ organization: 'other' });
    baseId = await createBase();
    archive = await download(baseId);
    entries = await splitArchive(archive);
  });
  after(async () => {
    await close();
    await worker.stop();
    await embedder.close();
    rmSync(dataDir, { recursive: true });
  });

  // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
  const get = async (path: string, key = api.key): Promise<any> => {
    const answer = await api.send('GET', path, { key });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const idle = (id: string, key = api.key) =>
    until(async () => (await get(`${BASES}/${id}`, key)).status !== 'indexing');

  async function createBase(): Promise<string> {
    const files = { ...TEXTS, 'lines.jsonl': LINES.join('\n') };
    const fileIds: string[] = [];
    for (const [filename, content] of Object.entries(files)) {
      const form = encodeForm([
        { name: 'purpose', content: 'knowledge-base' },
        { name: 'file', filename: filename.replaceAll('"', '%22'), content },
      ]);
      fileIds.push((await sendForm(`${api.url}/v1/files`, form, { key: api.key })).json.id);
    }
    const body = {
      name: 'Harbour/"1"',
      description: 'd',
      metadata: { owner: 'é' },
      chunking_strategy: { chunk_size: 64, chunk_overlap: 8 },
    };
    const { id } = (await api.send('POST', BASES, { body })).json;
    const config = { file_ids: fileIds, metadata: { team: 'a' } };
    await api.send('POST', `${BASES}/${id}/data-sources`, { body: { type: 'file_upload', name: 'Files', config } });
    await api.send('POST', `${BASES}/${id}/documents`, {
      body: { key: 'post/1', text: 'Posted about otters.', metadata: { n: 3 } },
    });
    const s3 = { id: newId('dataSource'), type: 's3' as const };
    const secret = { bucket: 'bucket-1', credentials: { access_key_id: 'AKIA', secret_access_key: 'top-secret' } };
    const at = new Date();
    const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
    await idle(id);
    await insertDataSource(api.db.sql, {
      ...s3,
      ...encryptConfig(api.deps, { ...s3, config: secret }),
      ...{ knowledgeBaseId: id, organizationId, name: 'Bucket', status: 'active', documentCount: 0 },
      ...{ createdAt: at, updatedAt: at, lastSyncedAt: null, error: null },
    });
    return id;
  }

  async function download(id: string, key = api.key): Promise<Buffer> {
    const response = await fetch(`${api.url}${BASES}/${id}/export`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/x-tar');
    return Buffer.from(await response.arrayBuffer());
  }

  const upload = (bytes: Buffer, fields: Record<string, string> = {}, key: string | null = other.key) =>
    sendArchive({ url: api.url, key }, bytes, fields);

  async function imported(bytes: Buffer, fields: Record<string, string> = {}): Promise<Answer['json']> {
    const answer = await upload(bytes, fields);
    assert.equal(answer.status, 200, answer.text);
    assertSchema(ImportedKnowledgeBase, answer.json);
    await idle(answer.json.knowledge_base.id, other.key);
    return answer.json;
  }

  /** What must be the same in both: everything but ids and times. */
  async function describeBase(id: string, key: string) {
    const documents = (await get(`${BASES}/${id}/documents?limit=100`, key)).data;
    const fileIds = new Map(
      (await get('/v1/files?limit=100', key)).data.map((file: Answer['json']) => [file.id, file.filename]),
    );
    const described = await Promise.all(
      documents.map(async (document: Answer['json']) => {
        const { data } = await get(`${BASES}/${id}/documents/${document.id}/chunks?limit=100`, key);
        const chunks = data.map(
          ({ id: _, document_id: __, knowledge_base_id: ___, ...chunk }: Answer['json']) => chunk,
        );
        const { id: _, knowledge_base_id: __, data_source_id: ___, source_uri, ...rest } = document;
        return {
          ...rest,
          source_uri: source_uri?.replace(/^[^#]+/, (uri: string) => fileIds.get(uri) ?? uri) ?? null,
          chunks,
        };
      }),
    );
    return described.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  }
  const search = async (id: string, key: string) => {
    const body = { query: 'When does the ferry leave?', top_k: 10 };
    const { results } = (await api.send('POST', `${BASES}/${id}/retrieve`, { body, key })).json;
    return results.map(({ text, score, document_name }: Answer['json']) => ({ text, score, document_name }));
  };

  it('an export has no credentials, no ids, and readable parts', async () => {
    const text = archive.toString('latin1');
    for (const secret of ['top-secret', 'AKIA', baseId, 'file-0', 'ds_']) assert.ok(!text.includes(secret), secret);
    assert.deepEqual(
      entries.map(({ name, extension }) => `${name}.${extension}`),
      [
        'manifest.json',
        ...[1, 2, 3].flatMap((n) => [`source-1/files/${n}.json`, `source-1/files/${n}.bin`]),
        ...['source-1/documents/1.json', 'source-1/chunks/1.arrow'],
        ...['source-2/posts/1.json', 'source-2/documents/1.json', 'source-2/chunks/1.arrow', 'end.json'],
      ],
    );
    const { data_sources: sources } = JSON.parse(entries[0]?.content.toString() ?? '');
    assert.deepEqual(sources[0].config, { metadata: { team: 'a' } });
    assert.deepEqual(
      [sources[2].type, sources[2].config.bucket, sources[2].config.credentials],
      ['s3', 'bucket-1', undefined],
    );
  });

  it('an import into another organization is equal, with new ids, and embeds nothing', async () => {
    const embedded = embedder.embedded.length;
    const { knowledge_base: base, data_sources: sources } = await imported(archive);
    assert.equal(embedder.embedded.length, embedded);
    assert.notEqual(base.id, baseId);
    assert.deepEqual(
      sources.map(({ type, needs_credentials }: Answer['json']) => [type, needs_credentials]),
      [
        ['file_upload', false],
        ['api', false],
        ['s3', true],
      ],
    );
    const [copy, original] = [await get(`${BASES}/${base.id}`, other.key), await get(`${BASES}/${baseId}`)];
    for (const field of [
      'name',
      'description',
      'metadata',
      'chunking_strategy',
      'document_count',
      'chunk_count',
      'embedding_model',
      'status',
    ]) {
      assert.deepEqual(copy[field], original[field], field);
    }
    assert.equal(copy.document_count, 5);
    assert.deepEqual(await describeBase(base.id, other.key), await describeBase(baseId, api.key));
    assert.deepEqual(await search(base.id, other.key), await search(baseId, api.key));
    // The archive is deleted; the files are there, with their bytes.
    await until(async () =>
      (await get('/v1/files?limit=100', other.key)).data.every(
        ({ purpose }: Answer['json']) => purpose === 'knowledge-base',
      ),
    );
    const { data } = await get('/v1/files?limit=100', other.key);
    assert.deepEqual(
      data.map(({ filename }: Answer['json']) => filename).toSorted(),
      [...Object.keys(TEXTS), 'lines.jsonl'].toSorted(),
    );
    const job = await get(`${BASES}/${base.id}/ingestion-jobs/${sources[0].ingestion_job_id}`, other.key);
    assert.deepEqual([job.status, job.documents_processed, job.documents_scanned], ['completed', 4, 4]);
    // A sync finds nothing to do.
    const path = `${BASES}/${base.id}/data-sources/${sources[0].id}`;
    const synced = (await api.send('POST', `${path}/sync`, { key: other.key })).json;
    await idle(base.id, other.key);
    const after = await get(`${BASES}/${base.id}/ingestion-jobs/${synced.id}`, other.key);
    assert.deepEqual(
      [after.status, after.documents_skipped, after.documents_processed, after.documents_deleted],
      ['completed', 4, 0, 0],
    );
    // A posted document keeps its key.
    await api.send('POST', `${BASES}/${base.id}/documents`, {
      body: { key: 'post/1', text: 'Posted about seals.' },
      key: other.key,
    });
    await idle(base.id, other.key);
    const { document_count } = await get(`${BASES}/${base.id}`, other.key);
    assert.equal(document_count, 5);
  });

  it('a source without credentials says so until they are sent', async () => {
    const { knowledge_base: base, data_sources: sources } = await imported(archive, { name: 'Renamed' });
    assert.equal((await get(`${BASES}/${base.id}`, other.key)).name, 'Renamed');
    const path = `${BASES}/${base.id}/data-sources/${sources[2].id}`;
    await api.send('POST', `${path}/sync`, { key: other.key });
    await until(async () => (await get(path, other.key)).status === 'error');
    const source = await get(path, other.key);
    assert.deepEqual([source.error.code, source.config.bucket], ['authentication_failed', 'bucket-1']);
    assert.match(source.error.message, /imported without credentials/);
    const body = { config: { credentials: { access_key_id: 'a', secret_access_key: 'b' } } };
    assert.equal((await api.send('PATCH', path, { body, key: other.key })).status, 200);
  });

  it('vectors of another model are not taken: the chunks are embedded again', async () => {
    suffix = '-b';
    const embedded = embedder.embedded.length;
    const { knowledge_base: base } = await imported(archive);
    const chunks = (await get(`${BASES}/${base.id}`, other.key)).chunk_count;
    assert.equal(embedder.embedded.length - embedded, chunks);
    assert.equal((await search(base.id, other.key)).length, chunks);
    suffix = '';
  });

  it('400 names the part of every archive that the service could not have written, and nothing is left', async () => {
    const cases = [...damageContainer(archive, entries), ...changeValues(entries), ...changeChunks(entries)];
    const before = {
      files: (await get('/v1/files', other.key)).data.length,
      bases: (await get(`${BASES}?limit=100`, other.key)).data.length,
    };
    for (const [name, bytes, message] of cases) {
      const answer = await upload(bytes);
      assertError(answer, 400, 'invalid_value', 'file');
      assert.match(answer.json.error.message, message, name);
    }
    const left = {
      files: (await get('/v1/files', other.key)).data.length,
      bases: (await get(`${BASES}?limit=100`, other.key)).data.length,
    };
    assert.deepEqual(left, before);
    const { rows: orphans } = await api.db.execute('select blob_key from loose_blobs');
    assert.deepEqual(orphans, []);
  });

  it('an import that stops anywhere continues without doing anything twice', async () => {
    await api.deps.jobs.stop();
    const { knowledge_base: base, data_sources: sources } = (await upload(archive)).json;
    const [, file] = (await get('/v1/files?order=desc', other.key)).data.map(({ id }: Answer['json']) => id);
    const archiveId = (await get('/v1/files?order=desc', other.key)).data.find(
      ({ purpose }: Answer['json']) => purpose === 'archive',
    ).id;
    assert.ok(file);
    assert.equal((await api.send('DELETE', `/v1/files/${archiveId}`, { key: other.key })).status, 409);
    const { organizationId } = await api.authenticator.authenticate(`Bearer ${other.key}`);
    const run = (signal: AbortSignal) =>
      worker.run(
        { jobId: sources[0].ingestion_job_id, archive: { organizationId, fileId: archiveId, source: 1 } },
        signal,
      );
    // Stops after each file, then after the documents.
    for (let files = 1; files <= 3; files += 1) {
      const stopping = new AbortController();
      const poll = until(async () => {
        const { rows } = await api.db.execute(
          `select jsonb_array_length(config -> 'file_ids') as n from data_sources where id = '${sources[0].id}'`,
        );
        return Number((rows[0] as { n: number }).n) >= files;
      }).then(() => stopping.abort());
      await run(stopping.signal).catch(() => {});
      await poll;
    }
    await run(new AbortController().signal);
    await run(new AbortController().signal);
    const { rows } = await api.db.execute(
      `select count(*)::int as documents, count(distinct item_key || part)::int as distinct from documents where knowledge_base_id = '${base.id}'`,
    );
    assert.deepEqual(rows, [{ documents: 4, distinct: 4 }]);
    const source = await get(`${BASES}/${base.id}/data-sources/${sources[0].id}`, other.key);
    assert.deepEqual([source.config.file_ids.length, source.document_count, source.status], [3, 4, 'active']);
  });

  it('401, 403 without both scopes or for a limited key, 404 for foreign and unknown knowledge bases', async () => {
    const path = `${BASES}/${baseId}/export`;
    assertError(await api.send('POST', path, { key: null }), 401, 'invalid_api_key');
    assertError(await upload(archive, {}, null), 401, 'invalid_api_key');
    assertError(await api.send('POST', path, { key: other.key }), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(
      await api.send('POST', `${BASES}/${newId('knowledgeBase')}/export`),
      404,
      'knowledge_base_not_found',
      'kb_id',
    );
    for (const scopes of [['knowledge'], ['files']] as const) {
      const { key } = await api.makeKey({ scopes: [...scopes] });
      assertError(await api.send('POST', path, { key }), 403, 'insufficient_scope');
      assertError(await upload(archive, {}, key), 403, 'insufficient_scope');
    }
    const limited = await api.makeKey({ knowledgeBaseIds: [baseId] });
    assertError(await upload(archive, {}, limited.key), 403, 'insufficient_scope');
    assertError(await upload(archive, { embedding_model: 'no-such' }), 404, 'model_not_found', 'embedding_model');
    assertError(await upload(archive, { name: ' ' }), 400, 'invalid_value', 'name');
  });

  it('an Idempotency-Key imports once', async () => {
    const form = encodeForm([{ name: 'file', filename: 'a.tar', content: archive }]);
    const send = () =>
      sendForm(`${api.url}${BASES}/import`, form, { key: other.key, headers: { 'idempotency-key': 'once' } });
    const [first, second] = [await send(), await send()];
    assert.deepEqual([first.status, second.json.knowledge_base.id], [200, first.json.knowledge_base.id]);
  });
});
