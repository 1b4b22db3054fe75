import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
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
});

describe('syncDueSources', () => {
  const engine = bundledEmbedder();
  after(() => engine.close());
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });

  it('queues one sync of each source that is due', async () => {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    const create = async (more: object) => {
      const config = { urls: ['https://example.com'], ...more };
      const body = { type: 'web_crawl', config };
      return (await api.send('POST', `/v1/knowledge-bases/${base}/data-sources`, { body })).json.id;
    };
    const [due, later] = [await create({ schedule: '6h' }), await create({ schedule: '7h' })];
    await create({});
    await api.db.execute("update ingestion_jobs set status = 'completed'");
    const deps = { ...api.deps, now: () => Date.now() + 6.5 * 3_600_000 };
    const queued = async () => {
      const { rows } = await api.db.execute("select data_source_id from ingestion_jobs where status = 'queued'");
      return (rows as { data_source_id: string }[]).map((row) => row.data_source_id);
    };
    await syncDueSources(api.deps);
    assert.deepEqual(await queued(), []);
    await Promise.all([syncDueSources(deps), syncDueSources(deps)]);
    await syncDueSources(deps);
    assert.deepEqual(await queued(), [due]);
    assert.notEqual(due, later);
  });
});
