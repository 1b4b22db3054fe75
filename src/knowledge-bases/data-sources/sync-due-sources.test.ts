import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { holdStatement } from '../../../test/support/hold-statement.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { nextRun } from './schedule.ts';
import { syncDueSources } from './sync-due-sources.ts';

describe('nextRun', () => {
  it('is an interval after the last run, or the next time of a cron expression in UTC', () => {
    const after = new Date('2026-03-01T10:00:00Z');
    const cases = { '90m': '2026-03-01T11:30', '1d': '2026-03-02T10:00', '30 3 * * 1': '2026-03-02T03:30' };
    for (const [schedule, expected] of Object.entries(cases)) {
      assert.equal(nextRun(schedule, after).toISOString().slice(0, 16), expected);
    }
  });

  it('of a cron expression is in UTC, whatever the zone of the machine', (t) => {
    const { TZ } = process.env;
    t.after(() => {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    });
    for (const zone of ['Asia/Kolkata', 'America/New_York']) {
      process.env['TZ'] = zone;
      assert.equal(nextRun('30 3 * * *', new Date('2026-03-01T10:00:00Z')).toISOString(), '2026-03-02T03:30:00.000Z');
    }
  });
});

describe('next_sync_at', () => {
  const engine = bundledEmbedder();
  after(() => engine.close());
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });

  it('counts the schedule from the start of the last sync, in answers and lists', async () => {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    const path = `/v1/knowledge-bases/${base}/data-sources`;
    const create = async (schedule?: string) => {
      const config = { urls: ['https://example.com'], ...(schedule !== undefined && { schedule }) };
      return (await api.send('POST', path, { body: { type: 'web_crawl', config } })).json;
    };
    const [interval, cron, none] = [await create('6h'), await create('30 3 * * *'), await create()];
    assert.equal(interval.next_sync_at, interval.created_at + 6 * 3600);
    assert.equal(none.next_sync_at, null);
    const syncedAt = new Date('2026-03-01T10:00:00Z');
    await api.db.execute('update ingestion_jobs set created_at = $1', [syncedAt.toISOString()]);
    const { data } = (await api.send('GET', path)).json;
    const nextSyncs = data.map((source: { next_sync_at: number | null }) => source.next_sync_at);
    const at = (time: string) => Date.parse(time) / 1000;
    assert.deepEqual(nextSyncs, [at('2026-03-01T16:00:00Z'), at('2026-03-02T03:30:00Z'), null]);
    const one = (await api.send('GET', `${path}/${cron.id}`)).json;
    assert.equal(one.next_sync_at, at('2026-03-02T03:30:00Z'));
    const patched = await api.send('PATCH', `${path}/${cron.id}`, { body: { config: { schedule: null } } });
    assert.equal(patched.json.next_sync_at, null);
  });
});

describe('syncs of one data source by two processes', () => {
  const engine = bundledEmbedder();
  after(() => engine.close());
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
  let base: string;
  before(async () => {
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
  });
  beforeEach(() => api.db.execute('delete from data_sources'));
  const create = async (more: object) => {
    const body = { type: 'web_crawl', config: { urls: ['https://example.com'], ...more } };
    const { id } = (await api.send('POST', `/v1/knowledge-bases/${base}/data-sources`, { body })).json;
    await complete();
    return id;
  };
  const complete = () => api.db.execute("update ingestion_jobs set status = 'completed'");
  const queued = async () => {
    const { rows } = await api.db.execute("select data_source_id from ingestion_jobs where status = 'queued'");
    return (rows as { data_source_id: string }[]).map((row) => row.data_source_id);
  };
  /** A process of 6.5 hours later. */
  const syncLater = () => syncDueSources({ ...api.deps, now: () => Date.now() + 6.5 * 3_600_000 });
  /** The statement in which a process waits for the others that change the source. */
  const LOCK_BASE = /from "knowledge_bases" .* for update/;

  it('queue one sync of each source that is due', async () => {
    const [due] = [await create({ schedule: '6h' }), await create({ schedule: '7h' }), await create({})];
    await syncDueSources(api.deps);
    assert.deepEqual(await queued(), []);
    await api.db.execute("update ingestion_jobs set status = 'processing'");
    await syncLater();
    assert.deepEqual(await queued(), [], 'the last sync still runs');
    await complete();
    await Promise.all([syncLater(), syncLater()]);
    await syncLater();
    assert.deepEqual(await queued(), [due]);
  });

  for (const { name, end } of [
    { name: 'is queued', end: async () => {} },
    { name: 'has ended', end: complete },
  ]) {
    it(`queue no second sync when the one of the other process ${name} by then`, async (t) => {
      const due = await create({ schedule: '6h' });
      const held = holdStatement(t, LOCK_BASE);
      const slow = syncLater();
      await held.reached();
      await syncLater();
      assert.deepEqual(await queued(), [due]);
      await end();
      const before = await queued();
      held.release();
      await slow;
      assert.deepEqual(await queued(), before);
    });
  }

  it('give requests that come together the same job', async (t) => {
    const path = `/v1/knowledge-bases/${base}/data-sources/${await create({})}/sync`;
    const held = holdStatement(t, /^insert into "ingestion_jobs"/);
    const [first, second] = [api.send('POST', path), held.reached().then(() => api.send('POST', path))];
    await held.reached();
    // Time for the second request to create a job of its own, if it does not wait for the first one.
    for (let statement = 0; statement < 30; statement += 1) await api.db.execute('select 1');
    held.release();
    const jobs = [await first, await second];
    assert.deepEqual(
      jobs.map(({ status }) => status),
      [202, 202],
    );
    assert.equal(jobs[0]?.json.id, jobs[1]?.json.id);
    assert.equal((await queued()).length, 1);
  });
});
