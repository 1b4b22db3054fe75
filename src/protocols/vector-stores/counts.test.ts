import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useApi } from '../../../test/harness.ts';
import { scriptedModels } from '../../../test/model-routes.ts';
import { makeStore, uploadFile } from '../../../test/vector-stores.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { newId } from '../../lib/ids.ts';

const PATH = '/v1/vector_stores';
const STATUSES = ['processing', 'completed', 'failed'];

describe('file counts of a store', () => {
  const api = useApi({ models: (engine) => scriptedModels(engine), jobs: [INGEST_SOURCE] });

  /** Gives the documents of each file a combination of states: status of two parts, version, cancellation. */
  const spread = async (store: string) => {
    const base = store.replace('vs_', 'kb_');
    const { rows } = await api.db.execute(
      'select id, item_key, data_source_id from documents where knowledge_base_id = $1 order by id',
      [base],
    );
    const states = STATUSES.flatMap((first) =>
      [null, ...STATUSES].flatMap((second) =>
        ['current', 'outdated'].flatMap((version) =>
          [true, false].map((isCancelled) => ({ first, second, version, isCancelled })),
        ),
      ),
    );
    for (const [at, { first, second, version, isCancelled }] of states.entries()) {
      const { id, item_key, data_source_id } = rows[at] as Record<string, string>;
      await api.db.execute(
        "update documents set status = $2, bytes = $3, fingerprint = case when $4 = 'current' then (select fingerprint from posted_documents where data_source_id = $5 and key = $6) else 'old' end where id = $1",
        [id, first, at + 1, version, data_source_id, item_key],
      );
      const posted = [isCancelled, data_source_id, item_key];
      await api.db.execute(
        'update posted_documents set is_cancelled = $1 where data_source_id = $2 and key = $3',
        posted,
      );
      if (second === null) continue;
      const columns = `knowledge_base_id, data_source_id, organization_id, item_key, fingerprint, seen_by, name,
        source_type, bytes, chunk_count, metadata, language, created_at, updated_at`;
      await api.db.execute(
        `insert into documents (id, part, status, ${columns}) select $1, '2', $2, ${columns} from documents where id = $3`,
        [newId('document'), second, id],
      );
    }
    return states.length;
  };

  it('are those of its list of files, in every state of a file, while a sync runs and after it', async () => {
    const ids = [];
    for (let i = 0; i < 48; i += 1) ids.push(await uploadFile(api, `${i}.txt`, `Text ${i}.`));
    const store = await makeStore(api, { file_ids: ids });
    await makeStore(api, { file_ids: ids.slice(0, 3) });
    assert.equal(await spread(store.id), 48);
    for (const status of ['processing', 'active', 'error']) {
      await api.db.execute('update data_sources set status = $1 where knowledge_base_id = $2', [
        status,
        store.id.replace('vs_', 'kb_'),
      ]);
      const { file_counts, usage_bytes } = (await api.send('GET', `${PATH}/${store.id}`)).json;
      const files = (await api.send('GET', `${PATH}/${store.id}/files?limit=100`)).json.data as {
        status: string;
        usage_bytes: number;
      }[];
      const countOf = (name: string) => files.filter((file) => file.status === name).length;
      const expected = {
        in_progress: countOf('in_progress'),
        completed: countOf('completed'),
        failed: countOf('failed'),
        cancelled: countOf('cancelled'),
        total: 48,
      };
      assert.deepEqual(file_counts, expected, status);
      assert.ok(file_counts.completed > 0 && file_counts.cancelled > 0 && file_counts.failed > 0);
      assert.equal(file_counts.in_progress > 0, status === 'processing');
      assert.equal(
        usage_bytes,
        files.reduce((sum, file) => sum + file.usage_bytes, 0),
      );
    }
  });
});
