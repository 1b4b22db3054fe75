import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useApi } from '../../../test/harness.ts';
import { scriptedModels } from '../../../test/model-routes.ts';
import { makeStore, uploadFile } from '../../../test/vector-stores.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { newId } from '../../lib/ids.ts';
import { countStoreFiles, selectStoreFiles } from './store.ts';

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

  it('are exact in every snapshot, while files are added, changed, cancelled and deleted', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 24; i += 1) ids.push(await uploadFile(api, `${i}.txt`, `Text "${i}".`));
    const store = await makeStore(api, { file_ids: ids.slice(0, 12) });
    const other = await makeStore(api, { file_ids: ids });
    const base = store.id.replace('vs_', 'kb_');
    const isItem = 'data_source_id in (select id from data_sources where knowledge_base_id = $1) and';
    const change = async (id: string, at: number) => {
      const status = STATUSES[at % STATUSES.length];
      const { status: code } = await api.send('POST', `${PATH}/${store.id}/files`, { body: { file_id: id } });
      assert.equal(code, 200);
      await api.db.execute(`update documents set status = $3, bytes = $4 where ${isItem} item_key = $2`, [
        ...[base, id, status, at],
      ]);
      const posted = [base, id, at % 2 === 0];
      await api.db.execute(`update posted_documents set is_cancelled = $3 where ${isItem} key = $2`, posted);
      const source = ['processing', 'active'][at % 2];
      await api.db.execute('update data_sources set status = $2 where knowledge_base_id = $1', [base, source]);
      if (at % 4 === 0) await api.send('DELETE', `${PATH}/${store.id}/files/${id}`);
    };
    const seen = new Set<string>();
    let isDone = false;
    const compare = () =>
      api.deps.db.sql.transaction(
        async (sql) => {
          const counted = (await countStoreFiles(sql, [base])).get(base) ?? [];
          const page = { after: null, limit: 100, order: 'asc' } as const;
          const listed = await selectStoreFiles(sql, base, {}, page);
          const expected = [...Map.groupBy(listed, ({ status }) => status)].map(([status, files]) => ({
            ...{ base, status, files: files.length },
            bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
          }));
          const byStatus = (a: { status: string }, b: { status: string }) => a.status.localeCompare(b.status);
          assert.deepEqual(counted.toSorted(byStatus), expected.toSorted(byStatus));
          seen.add(JSON.stringify(counted));
        },
        { isolationLevel: 'repeatable read' },
      );
    const readers = [0, 1].map(async () => {
      while (!isDone) await compare();
    });
    const writers = Promise.all(ids.map(change)).finally(() => {
      isDone = true;
    });
    await Promise.all([writers, ...readers]);
    await compare();
    assert.ok(seen.size > 1, 'reads happened between writes');
    const { file_counts } = (await api.send('GET', `${PATH}/${other.id}`)).json;
    assert.equal(file_counts.total, 24, 'the files of another store do not change');
  });
});
