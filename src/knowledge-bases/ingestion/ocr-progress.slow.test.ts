import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { until } from '../../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertSchema, useApi } from '../../../test/harness.ts';
import { ingestInMemory, plainExtractor } from '../../../test/ingestion.ts';
import { DetailedJob } from '../jobs/schema.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import { type IngestDeps, RunSupersededError } from './run-context.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));
const QUOTED = `it's "a"`;

type Base = Awaited<ReturnType<typeof ingestInMemory>>;
type Extract = IngestDeps['extractor']['extract'];

const getJob = async ({ baseId }: Base, id: string) =>
  (await api.send('GET', `/v1/knowledge-bases/${baseId}/ingestion-jobs/${id}`)).json;

/** Makes the extractor report a page of each file, and wait until `resume` or the end of the run. */
function pauseAtPage(kb: Base, page: number) {
  const resumed = Promise.withResolvers<void>();
  const extract: Extract = async function* (file, options, signal) {
    options.onPage?.(page, 100);
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => aborted.reject(signal.reason));
    await Promise.race([resumed.promise, aborted.promise]);
    options.onPage?.(page + 1, 100);
    yield* plainExtractor.extract(file, options, signal);
    options.onPage?.(page + 2, 100);
  };
  kb.deps.extractor = { extract };
  return () => resumed.resolve();
}

async function startReading(kb: Base, page: number, signal?: AbortSignal) {
  const resume = pauseAtPage(kb, page);
  const id = await kb.queueJob();
  const running = kb.run(id, signal);
  running.catch(() => {});
  return { id, running, resume };
}

describe('the progress of OCR in a job', { timeout: 60_000 }, () => {
  it('is that of its own files, and is cleared when the job is cancelled or completes', async () => {
    const cancelled = await ingestInMemory(api, { [QUOTED]: 'Granite is a stone.', b: 'Marble is a stone.' });
    const completed = await ingestInMemory(api, { c: 'Basalt is a stone.' });
    const [first, second] = [await startReading(cancelled, 12), await startReading(completed, 40)];
    const isRead = (kb: Base, id: string, files: number) => async () => (await getJob(kb, id)).reading.length === files;
    await until(isRead(cancelled, first.id, 2));
    await until(isRead(completed, second.id, 1));
    const job = await getJob(cancelled, first.id);
    assertSchema(DetailedJob, job);
    const byName = (a: { document: string }, b: { document: string }) => (a.document < b.document ? -1 : 1);
    assert.deepEqual(job.reading.toSorted(byName), [
      { document: 'b.txt', page: 12, pages: 100 },
      { document: `it's "a".txt`, page: 12, pages: 100 },
    ]);
    assert.deepEqual((await getJob(completed, second.id)).reading, [{ document: 'c.txt', page: 40, pages: 100 }]);
    const path = `/v1/knowledge-bases/${cancelled.baseId}/ingestion-jobs/${first.id}/cancel`;
    assert.deepEqual((await api.send('POST', path)).json.reading, []);
    first.resume();
    await assert.rejects(first.running, RunSupersededError);
    assert.deepEqual((await cancelled.jobRow(first.id))?.reading, []);
    assert.equal((await getJob(completed, second.id)).reading.length, 1);
    second.resume();
    await second.running;
    const { status, reading } = await getJob(completed, second.id);
    assert.deepEqual([status, reading], ['completed', []]);
  });

  it('is cleared when the run is stopped, and by the run after one whose process was killed', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const stop = new AbortController();
    const { id, running } = await startReading(kb, 3, stop.signal);
    const storedReading = async () => (await kb.jobRow(id))?.reading;
    await until(async () => (await storedReading())?.length === 1);
    stop.abort(new Error('The service stops.'));
    await assert.rejects(running, /The service stops/);
    assert.deepEqual([(await kb.jobRow(id))?.status, await storedReading()], ['processing', []]);
    const reading = [{ document: 'a.txt', page: 3, pages: 100 }];
    await api.db.sql.update(ingestionJobs).set({ reading }).where(eq(ingestionJobs.id, id));
    kb.deps.extractor = plainExtractor;
    const atFetch: unknown[] = [];
    kb.source.onFetch = async () => void atFetch.push(await storedReading());
    await kb.run(id);
    assert.deepEqual(atFetch, [[]]);
  });

  it('ends the reading of a file after a page when the job is cancelled or its data source deleted', async () => {
    for (const end of ['cancel', 'delete']) {
      const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
      const pages: number[] = [];
      const extract: Extract = async function* (_, options, signal) {
        for (let page = 1; page < 100; page++) {
          options.onPage?.(page, 100);
          pages.push(page);
          await setTimeout(100, null, { signal }).catch(() => signal.throwIfAborted());
        }
        yield* [];
      };
      kb.deps.extractor = { extract };
      const id = await kb.queueJob();
      const running = kb.run(id);
      running.catch(() => {});
      await until(async () => (await kb.jobRow(id))?.reading.length === 1);
      const base = `/v1/knowledge-bases/${kb.baseId}`;
      if (end === 'cancel') await api.send('POST', `${base}/ingestion-jobs/${id}/cancel`);
      else await api.send('DELETE', `${base}/data-sources/${kb.sourceId}`);
      if (end === 'cancel') await assert.rejects(running, RunSupersededError);
      else await running;
      assert.ok(pages.length < 99, `read ${pages.length} pages`);
    }
  });

  it('is not written by a run that another one has superseded, or whose job has ended', async () => {
    for (const change of [{ run: 7 }, { status: 'failed' as const }]) {
      const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
      const { id, running, resume } = await startReading(kb, 3);
      await until(async () => (await kb.jobRow(id))?.reading.length === 1);
      const reading = [{ document: 'a.txt', page: 9, pages: 100 }];
      await api.db.sql
        .update(ingestionJobs)
        .set({ ...change, reading })
        .where(eq(ingestionJobs.id, id));
      resume();
      await assert.rejects(running, RunSupersededError);
      assert.deepEqual((await kb.jobRow(id))?.reading, reading);
    }
  });
});
