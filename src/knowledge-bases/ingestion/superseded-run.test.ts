import assert from 'node:assert/strict';
import { after, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { ingestInMemory } from '../../../test/ingestion.ts';
import { repairIndexes } from '../index-integrity/repair-indexes.ts';
import { RunSupersededError } from './store.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));

type Base = Awaited<ReturnType<typeof ingestInMemory>>;

/** Starts a run that waits where `suspend` is awaited, as a suspended process does, and runs the job to its end in another. */
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

  it('has changed documents embedded again that it has written to the index', async () => {
    const kb = await ingestInMemory(api, { a: 'Granite is a stone.' });
    await kb.sync();
    kb.source.items.set('a', 'Marble is a stone.');
    const { resume } = await supersede(kb, await kb.queueJob(), inIndexWrite);
    await resume();
    assert.deepEqual(
      (await kb.documents()).map(({ embeddingFingerprint }) => embeddingFingerprint),
      [null],
    );
    await kb.sync();
    await repairIndexes(api.deps);
    assert.equal((await kb.find('marble', { search_type: 'semantic' })).length, 1);
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
