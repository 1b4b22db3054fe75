import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { eq, sql as expression } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { knowledgeBases } from '../tables.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));

it('keyword search in the database answers 503 when its time limit ends it without a hit, and works afterwards', async () => {
  const { id } = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json;
  const source = new MemorySource();
  source.items.set('stone', 'Granite is a stone.');
  const { queueJob, run } = await makeSource(api, id, source);
  await run(await queueJob());
  await api.db.sql.update(knowledgeBases).set({ indexState: 'damaged' }).where(eq(knowledgeBases.id, id));
  const retrieve = () => api.send('POST', `/v1/knowledge-bases/${id}/retrieve`, { body: { query: 'stone' } });
  await api.db.sql.transaction(async (sql) => {
    await sql.execute(expression`lock table chunks in access exclusive mode`);
    // The second search of the organization waits for the first one, within the same limit.
    for (const answer of await Promise.all([retrieve(), retrieve()])) {
      assertError(answer, 503, 'engine_unavailable');
      assert.ok(Number(answer.headers.get('retry-after')) >= 1);
    }
  });
  assert.equal((await retrieve()).json.results.length, 1);
});
