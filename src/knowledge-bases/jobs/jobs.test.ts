import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { until, withDeadline } from '../../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, assertSchema, chunks, useApi } from '../../../test/harness.ts';
import { listSchema } from '../../db/page.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from './ingest-job.ts';
import { JobFeed, MAX_STREAMS_PER_CALLER } from './job-feed.ts';
import { DetailedJob, IngestionJob, JobEvent, MAX_DETAILS } from './schema.ts';
import { insertJob, type JobRow, newJobRow } from './store.ts';
import { ingestionJobs, jobDocuments } from './tables.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
const BASES = '/v1/knowledge-bases';
const UNKNOWN_KB = 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3';
const ERROR = { code: 'access_denied' as const, message: 'The bucket is closed.', param: null, retryable: false };

const newBase = async (key = api.key): Promise<string> =>
  (await api.send('POST', BASES, { body: { name: 'Base' }, key })).json.id;
/** A knowledge base with a data source, and so with one job that waits. */
async function made(): Promise<{ base: string; source: string; organizationId: string; first: string }> {
  const base = await newBase();
  const body = { type: 'web_crawl', config: { urls: ['https://example.com'] } };
  const source = (await api.send('POST', `${BASES}/${base}/data-sources`, { body })).json.id;
  const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
  const { json } = await api.send('GET', `${BASES}/${base}/ingestion-jobs`);
  return { base, source, organizationId, first: json.data[0].id };
}
/** Another job of the source, as a worker would leave it. */
async function addJob(here: Awaited<ReturnType<typeof made>>, changes: Partial<JobRow>): Promise<string> {
  const source = { id: here.source, knowledgeBaseId: here.base, organizationId: here.organizationId };
  const createdAt = new Date(1_763_683_200_000);
  const row = { ...newJobRow({ id: newId('ingestionJob'), source, keyId: 'key_1', createdAt }), ...changes };
  await insertJob(api.db.sql, row);
  return row.id;
}
const get = (base: string, rest = '', key: string | null = api.key) =>
  api.send('GET', `${BASES}/${base}/ingestion-jobs${rest}`, { key });
const idsOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);

describe('GET /v1/knowledge-bases/{kb_id}/ingestion-jobs', () => {
  let here: Awaited<ReturnType<typeof made>>;
  const ids: string[] = [];
  before(async () => {
    here = await made();
    ids.push(here.first);
    for (const status of ['completed', 'failed'] as const) ids.push(await addJob(here, { status }));
    await made();
  });

  it('shows a source that was just added as one job that waits', async () => {
    const { json } = await get(here.base, '?limit=1');
    assertSchema(listSchema(IngestionJob), json);
    const { created_at, ...rest } = json.data[0];
    assert.ok(created_at > 1_763_683_200);
    assert.deepEqual(rest, {
      id: here.first,
      object: 'ingestion_job',
      knowledge_base_id: here.base,
      data_source_id: here.source,
      status: 'queued',
      documents_processed: 0,
      documents_failed: 0,
      chunks_created: 0,
      documents_scanned: 0,
      documents_new: 0,
      documents_modified: 0,
      documents_deleted: 0,
      documents_skipped: 0,
      documents_pending_deletion: 0,
      reading: [],
      started_at: null,
      completed_at: null,
      error: null,
    });
  });

  it('lists those of the knowledge base, oldest first, page by page, and of one status', async () => {
    const first = (await get(here.base, '?limit=2')).json;
    assert.deepEqual([idsOf(first), first.has_more], [ids.slice(0, 2), true]);
    const second = (await get(here.base, `?limit=2&after=${first.last_id}`)).json;
    assert.deepEqual([idsOf(second), second.has_more], [ids.slice(2), false]);
    assert.deepEqual(idsOf((await get(here.base, '?status=failed')).json), [ids[2]]);
    assert.deepEqual(idsOf((await get(here.base, '?status=processing')).json), []);
    assert.deepEqual(idsOf((await get(here.base, '?order=desc')).json), ids.toReversed());
    assert.deepEqual(idsOf((await get(here.base, `?order=desc&data_source_id=${here.source}`)).json), ids.toReversed());
    assert.deepEqual(idsOf((await get(here.base, `?data_source_id=${newId('dataSource')}`)).json), []);
  });

  it('400 for a limit out of bounds, a cursor of another kind and an unknown status', async () => {
    const cases = [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      [`after=${UNKNOWN_KB}`, 'after'],
      ['status=done', 'status'],
      ['order=new', 'order'],
      [`data_source_id=${UNKNOWN_KB}`, 'data_source_id'],
    ];
    for (const [query, param] of cases) assertError(await get(here.base, `?${query}`), 400, 'invalid_value', param);
  });
});

describe('GET /v1/knowledge-bases/{kb_id}/ingestion-jobs/events', () => {
  /** Only notifications lead to reads: the poll is longer than a test. */
  const INTERVALS = { pollMs: 600_000, minMs: 10 };
  const update = (id: string, changes: Partial<JobRow>) =>
    api.db.sql.update(ingestionJobs).set(changes).where(eq(ingestionJobs.id, id));

  it('sends a snapshot, then changes, and ends with the knowledge base', async () => {
    const here = await made();
    const response = await fetch(`${api.url}${BASES}/${here.base}/ingestion-jobs/events`, {
      headers: { authorization: `Bearer ${api.key}` },
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const reading = [{ document: 'a "scan".pdf', page: 12, pages: 100 }];
    let text = '';
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      if (text === '') await update(here.first, { status: 'processing', documentsProcessed: 3, reading });
      else if (!text.includes('"type":"job"')) await api.send('DELETE', `${BASES}/${here.base}`);
      text += part;
    }
    const [snapshot, changed] = chunks(text);
    for (const event of [snapshot, changed]) assertSchema(JobEvent, event);
    assert.deepEqual([snapshot.type, idsOf({ data: snapshot.jobs })], ['snapshot', [here.first]]);
    const { status, documents_processed } = changed.job;
    assert.deepEqual([status, documents_processed, changed.job.reading], ['processing', 3, reading]);
  });

  it('shows every watcher the jobs of its knowledge base only, and frees them when they leave', async () => {
    const [here, other] = [await made(), await made()];
    const feed = new JobFeed(api.db, INTERVALS);
    const leaving = new AbortController();
    const watch = ({ base, organizationId }: typeof here) =>
      feed.watch({ organizationId, callerId: 'key_1', baseId: base }, leaving.signal);
    const streams = [watch(here), watch(here), watch(other)];
    for (const stream of streams) await stream.next();
    const quiet = streams[2]!.next();
    const added = await addJob(here, {});
    for (const stream of streams.slice(0, 2)) {
      const { value } = await withDeadline('the new job', stream.next());
      assert.deepEqual([value?.type, value?.type === 'job' && value.job.id], ['job', added]);
    }
    await update(here.first, { status: 'completed' });
    const { value } = await withDeadline('the finished job', streams[0]!.next());
    assert.deepEqual(value?.type === 'job' && [value.job.id, value.job.status], [here.first, 'completed']);
    leaving.abort();
    assert.equal((await withDeadline('the end', quiet)).done, true);
    assert.equal(feed.size, 0);
  });

  it('reads each watched knowledge base once for all of its streams, and nothing without streams', async (t) => {
    const here = await made();
    const feed = new JobFeed(api.db, INTERVALS);
    const leaving = new AbortController();
    const who = { organizationId: here.organizationId, callerId: 'key_1', baseId: here.base };
    const streams = Array.from({ length: MAX_STREAMS_PER_CALLER }, () => feed.watch(who, leaving.signal));
    for (const stream of streams) await stream.next();
    const reads = t.mock.method(api.db.sql, 'select');
    const waiting = streams.map((stream) => stream.next());
    await until(() => reads.mock.callCount() > 0);
    assert.ok(reads.mock.callCount() < streams.length, `${reads.mock.callCount()} reads`);
    assert.throws(() => feed.watch(who, leaving.signal), { status: 429 });
    feed.watch({ ...who, callerId: 'key_2' }, leaving.signal);
    leaving.abort();
    await Promise.all(waiting);
    reads.mock.resetCalls();
    await setTimeout(50);
    assert.ok(reads.mock.callCount() <= 1);
  });

  it('notifies the streams of all processes of every change of a job, and of its deletion', async () => {
    const here = await made();
    const notified: string[] = [];
    const connected = Promise.withResolvers<void>();
    const unlisten = api.db.listen('quire_ingestion_jobs', {
      onNotification: (baseId) => notified.push(baseId),
      onGap: () => connected.resolve(),
    });
    await connected.promise;
    const ofBase = () => notified.filter((baseId) => baseId === here.base).length;
    const changes = [
      () => addJob(here, {}),
      () => update(here.first, { documentsProcessed: 1 }),
      () => api.send('DELETE', `${BASES}/${here.base}`),
    ];
    for (const change of changes) {
      const before = ofBase();
      await change();
      await until(() => ofBase() > before);
    }
    unlisten();
  });

  it('ends the streams when the service stops', async () => {
    const { base, organizationId } = await made();
    const feed = new JobFeed(api.db, INTERVALS);
    const stream = feed.watch({ organizationId, callerId: 'key_1', baseId: base }, new AbortController().signal);
    await stream.next();
    const next = stream.next();
    feed.close();
    assert.equal((await withDeadline('the end', next)).done, true);
    assert.equal(feed.size, 0);
  });

  it('401 without a key, 403 without the scope, 404 for a foreign knowledge base', async () => {
    const { base } = await made();
    assertError(await get(base, '/events', null), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await get(base, '/events', key), 403, 'insufficient_scope');
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await get(base, '/events', foreign), 404, 'knowledge_base_not_found', 'kb_id');
  });
});

describe('GET /v1/knowledge-bases/{kb_id}/ingestion-jobs/{job_id}', () => {
  const detail = (jobId: string, more: object = {}) => ({
    ...{ jobId, documentId: newId('document'), documentName: 'a.txt', status: 'completed' as const },
    ...{ chunksCreated: 1, error: null },
    ...more,
  });

  it('answers with every field of the job and with what came of each document', async () => {
    const here = await made();
    const id = await addJob(here, {
      status: 'failed',
      documentsProcessed: 1,
      documentsFailed: 2,
      chunksCreated: 3,
      documentsScanned: 4,
      documentsNew: 5,
      documentsModified: 6,
      documentsDeleted: 7,
      documentsSkipped: 8,
      error: ERROR,
      startedAt: new Date(1_763_683_201_900),
      completedAt: new Date(1_763_683_202_000),
    });
    const warnings = [{ code: 'text_missing' as const, message: 'Half of it is blank.' }];
    const good = detail(id, { warnings });
    const bad = detail(id, { status: 'failed', chunksCreated: 0, error: ERROR });
    await api.db.sql.insert(jobDocuments).values([good, bad]);
    const viewed = { document_name: 'a.txt' };
    const { status, json } = await get(here.base, `/${id}`);
    assert.equal(status, 200);
    assertSchema(DetailedJob, json);
    assert.deepEqual(json, {
      id,
      object: 'ingestion_job',
      knowledge_base_id: here.base,
      data_source_id: here.source,
      status: 'failed',
      documents_processed: 1,
      documents_failed: 2,
      chunks_created: 3,
      documents_scanned: 4,
      documents_new: 5,
      documents_modified: 6,
      documents_deleted: 7,
      documents_skipped: 8,
      documents_pending_deletion: 0,
      reading: [],
      started_at: 1_763_683_201,
      completed_at: 1_763_683_202,
      created_at: 1_763_683_200,
      error: ERROR,
      document_details: [
        { ...viewed, document_id: good.documentId, status: 'completed', chunks_created: 1, error: null, warnings },
        { ...viewed, document_id: bad.documentId, status: 'failed', chunks_created: 0, error: ERROR, warnings: [] },
      ],
      document_details_has_more: false,
    });
    const failed = (await get(here.base, `/${id}?details_status=failed`)).json;
    assert.deepEqual(failed.document_details, [json.document_details[1]]);
    const warned = (await get(here.base, `/${id}?details_with_warnings=true`)).json;
    assert.deepEqual(warned.document_details, [json.document_details[0]]);
  });

  it('shows a thousand documents at most, and the rest after the last of them', async () => {
    const here = await made();
    const rows = Array.from({ length: MAX_DETAILS + 1 }, () => detail(here.first));
    await api.db.sql.insert(jobDocuments).values(rows);
    const first = (await get(here.base, `/${here.first}`)).json;
    assert.deepEqual([first.document_details.length, first.document_details_has_more], [MAX_DETAILS, true]);
    const rest = (await get(here.base, `/${here.first}?details_after=${rows[MAX_DETAILS - 1]?.documentId}`)).json;
    assert.deepEqual(
      [rest.document_details[0].document_id, rest.document_details.length, rest.document_details_has_more],
      [rows[MAX_DETAILS]?.documentId, 1, false],
    );
  });

  it('400 for a cursor and a status of details that are none', async () => {
    const { base, first } = await made();
    assertError(await get(base, `/${first}?details_after=x`), 400, 'invalid_value', 'details_after');
    assertError(await get(base, `/${first}?details_status=queued`), 400, 'invalid_value', 'details_status');
  });

  it('404 for what is unknown, no id, of another knowledge base or of another organization', async () => {
    const { base, first } = await made();
    for (const unknown of ['job_01kaj3v0b8s4x2m6n9p1q5r7t3', 'x', 'job_%00', newId('document')]) {
      assertError(await get(base, `/${unknown}`), 404, 'ingestion_job_not_found', 'job_id');
    }
    assertError(await get(await newBase(), `/${first}`), 404, 'ingestion_job_not_found', 'job_id');
    const { key } = await api.makeKey({ organization: 'foreign' });
    assertError(await get(base, `/${first}`, key), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(await get(await newBase(key), `/${first}`, key), 404, 'ingestion_job_not_found', 'job_id');
    assertError(await get(base, '', key), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(await get(UNKNOWN_KB), 404, 'knowledge_base_not_found', 'kb_id');
  });

  it('401 without a key, 403 without the scope', async () => {
    const { base, first } = await made();
    const { key } = await api.makeKey({ scopes: ['inference', 'files', 'guardrails', 'admin'] });
    for (const rest of ['', `/${first}`]) {
      assertError(await get(base, rest, null), 401, 'invalid_api_key');
      assertError(await get(base, rest, key), 403, 'insufficient_scope');
    }
  });

  it('405 for what no job can be asked: they are made by their sources', async () => {
    const { base } = await made();
    const answer = await api.send('POST', `${BASES}/${base}/ingestion-jobs`, { body: {} });
    assertError(answer, 405, 'method_not_allowed');
  });
});
