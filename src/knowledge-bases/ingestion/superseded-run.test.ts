import assert from 'node:assert/strict';
import { after, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { ingestInMemory } from '../../../test/ingestion.ts';
import { newId } from '../../lib/ids.ts';
import { repairIndexes } from '../index-integrity/repair-indexes.ts';
import { IngestionJob } from '../jobs/schema.ts';
import { RunSupersededError } from './run-context.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));

type Base = Awaited<ReturnType<typeof ingestInMemory>>;

/** Starts a run that waits at `suspend`, like a suspended process, and runs the job to its end in another. */
async function supersede(kb: Base, id: string, hook: (suspend: () => Promise<void>) => () => void) {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const unhook = hook(() => {
    reached.resolve();
    return resumed.promise;
  });
  const suspended = kb.run(id);
  suspended.catch(() => {});
  await reached.promise;
  unhook();
  await kb.run(id);
  const job = await kb.jobRow(id);
  return {
    job,
    /** Lets the first run go on to its end. */
    resume: async () => {
      resumed.resolve();
      await assert.rejects(suspended, RunSupersededError);
      assert.deepEqual(await kb.jobRow(id), job);
    },
  };
}

/** Suspends the fetch of an item, which ends with an error then if one is given. */
const inFetch = (kb: Base, error?: Error) => (suspend: () => Promise<void>) => {
  kb.source.onFetch = async () => {
    await suspend();
    if (error !== undefined) throw error;
  };
  return () => {
    kb.source.onFetch = () => {};
  };
};

/** Suspends the first write to the index. */
const inIndexWrite = (suspend: () => Promise<void>) => {
  const replace = api.deps.chunks.replace.bind(api.deps.chunks);
  const mocked = mock.method(api.deps.chunks, 'replace', async (...args: Parameters<typeof replace>) => {
    await suspend();
    return replace(...args);
  });
  return () => mocked.mock.restore();
};

describe('a cancelled job', { timeout: 60_000 }, () => {
  const cancel = (kb: Base, id: string, key: string | null = api.key) =>
    api.send('POST', `/v1/knowledge-bases/${kb.baseId}/ingestion-jobs/${id}/cancel`, { key });

  it('leaves a maintained index, whether its process runs or was killed', async (t) => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const steps: [string, boolean | undefined][] = [];
    const maintain = api.deps.chunks.maintain.bind(api.deps.chunks);
    t.mock.method(api.deps.chunks, 'maintain', (base: string, isBusy?: boolean) => {
      steps.push([base, isBusy]);
      return maintain(base, isBusy);
    });
    for (const isKilled of [false, true]) {
      const id = await kb.queueJob();
      kb.source.items.set(`b${isKilled}`, `Marble is a stone, ${isKilled}.`);
      const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      kb.source.onFetch = () => {
        reached.resolve();
        return resumed.promise;
      };
      const running = isKilled ? Promise.reject(new RunSupersededError()) : kb.run(id);
      running.catch(() => {});
      if (!isKilled) await reached.promise;
      await cancel(kb, id);
      resumed.resolve();
      await assert.rejects(running, RunSupersededError);
      steps.length = 0;
      // The queue starts a job again whose run did not complete.
      await kb.run(id);
      assert.deepEqual(steps.at(-1), [kb.baseId, false]);
    }
  });

  it('has failed at once, and its run writes nothing more', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    await kb.sync();
    kb.source.items.set('b', 'Marble is a stone.');
    const id = await kb.queueJob();
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    kb.source.onFetch = () => {
      reached.resolve();
      return resumed.promise;
    };
    const running = kb.run(id);
    running.catch(() => {});
    await reached.promise;
    const { status, json } = await cancel(kb, id);
    assertSchema(IngestionJob, json);
    assert.deepEqual([status, json.status, json.error.code], [200, 'failed', 'cancelled']);
    const { status: state, document_count } = await kb.base();
    assert.deepEqual([state, document_count, (await kb.sourceRow())?.status], ['active', 1, 'error']);
    resumed.resolve();
    await assert.rejects(running, RunSupersededError);
    await kb.run(id);
    assert.deepEqual(
      (await kb.documents()).map(({ itemKey }) => itemKey),
      ['a'],
    );
    assert.deepEqual((await cancel(kb, id)).json, json, 'a finished job is returned unchanged');
    await kb.sync();
    assert.equal((await kb.find('stone')).length, 2, 'the next sync does the rest');
    await kb.assertCounts();
  });

  it('does not run when it was queued', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const id = await kb.queueJob();
    assert.equal((await cancel(kb, id)).json.status, 'failed');
    await kb.run(id);
    assert.deepEqual([(await kb.documents()).length, (await kb.base()).status], [0, 'error']);
  });

  it('401 without a key, 403 without the scope, 404 for foreign and unknown jobs', async () => {
    const kb = await ingestInMemory(api, {});
    const id = await kb.queueJob();
    assertError(await cancel(kb, id, null), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await cancel(kb, id, key), 403, 'insufficient_scope');
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await cancel(kb, id, foreign), 404, 'knowledge_base_not_found', 'kb_id');
    for (const unknown of ['x', newId('ingestionJob')]) {
      assertError(await cancel(kb, unknown), 404, 'ingestion_job_not_found', 'job_id');
    }
    assert.equal((await kb.jobRow(id))?.status, 'queued');
  });
});

describe('a run of a job that another process has taken over', { timeout: 60_000 }, () => {
  it('writes no documents, counts or final state', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.', b: 'Salmon is a fish.' });
    const { job, resume } = await supersede(kb, await kb.queueJob(), inFetch(kb));
    assert.deepEqual([job?.status, job?.documentsProcessed, job?.chunksCreated], ['completed', 2, 2]);
    await resume();
    assert.equal((await kb.documents()).length, 2);
    await kb.assertCounts();
  });

  it('does not fail the job', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const id = await kb.queueJob();
    const { job, resume } = await supersede(kb, id, inFetch(kb, new Error('connection lost')));
    assert.equal(job?.status, 'completed');
    await resume();
  });

  it('removes new documents from the index that it has written there', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const { resume } = await supersede(kb, await kb.queueJob(), inIndexWrite);
    await resume();
    await kb.assertCounts();
    assert.equal((await kb.find('stone')).length, 1);
  });

  it('removes the chunks of changed documents that it has written to the index', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    await kb.sync();
    kb.source.items.set('a', 'Marble is a stone.');
    const { resume } = await supersede(kb, await kb.queueJob(), inIndexWrite);
    await resume();
    assert.equal((await kb.find('marble', { search_type: 'semantic' })).length, 1);
    await kb.assertCounts();
  });

  it('has unchanged documents embedded again whose fields it has written to the index', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    await kb.sync();
    kb.source.metadata.set('a', { color: 'red' });
    const { resume } = await supersede(kb, await kb.queueJob(), inIndexWrite);
    await resume();
    assert.deepEqual(
      (await kb.documents()).map(({ embeddingFingerprint }) => embeddingFingerprint),
      [null],
    );
    await kb.sync();
    await repairIndexes(api.deps);
    assert.equal((await kb.find('granite', { search_type: 'semantic' })).length, 1);
    await kb.assertCounts();
  });

  it('cannot be told to have been stopped', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    const id = await kb.queueJob();
    const stopping = new AbortController();
    const reached = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    kb.source.onFetch = () => {
      reached.resolve();
      return resumed.promise;
    };
    const first = kb.run(id, stopping.signal);
    first.catch(() => {});
    await reached.promise;
    kb.source.listError = new Error('no network');
    await assert.rejects(kb.run(id), /no network/);
    stopping.abort(new Error('stopping'));
    resumed.resolve();
    await assert.rejects(first, /stopping/);
    assert.equal((await kb.jobRow(id))?.attempts, 2, 'it takes no attempt back');
  });
});
