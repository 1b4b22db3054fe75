import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { INGEST_SOURCE } from '../../src/knowledge-bases/jobs/ingest-job.ts';
import { bundledEmbedder, embeddedBy } from '../embedder.ts';
import { useApi } from '../harness.ts';
import { runQueuedJobs } from '../ingestion.ts';

const embedder = bundledEmbedder();
after(() => embedder.close());
const api = useApi({ ...embeddedBy(embedder), jobs: [INGEST_SOURCE] });
const poll = { pollIntervalMs: 20 };
const file = (name: string, text: string) => toFile(Buffer.from(text), name);

describe('openai: vector stores', () => {
  let client: OpenAI;
  let isOver = false;
  let worker: Promise<void>;
  before(() => {
    client = new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
    worker = (async () => {
      while (!isOver) {
        await runQueuedJobs(api);
        await wait(10);
      }
    })();
  });
  after(async () => {
    isOver = true;
    await worker;
  });

  it('create, retrieve, update, list and delete', async () => {
    const { vectorStores } = client;
    const made = await vectorStores.create({ name: 'Handbook', metadata: { team: 'a' } });
    assert.deepEqual(await vectorStores.retrieve(made.id), made);
    const expires_after = { anchor: 'last_active_at', days: 7 } as const;
    const updated = await vectorStores.update(made.id, { name: 'Guide', expires_after });
    assert.deepEqual([updated.name, updated.expires_after], ['Guide', expires_after]);
    const ids = [made.id];
    for (let i = 0; i < 4; i += 1) ids.unshift((await vectorStores.create({})).id);
    const seen: string[] = [];
    for await (const { id } of vectorStores.list({ limit: 2 })) seen.push(id);
    assert.deepEqual(seen, ids);
    assert.equal((await vectorStores.delete(made.id)).deleted, true);
    await assert.rejects(vectorStores.retrieve(made.id), OpenAI.NotFoundError);
  });

  it('files: uploadAndPoll, createAndPoll, update, content, list and delete', async () => {
    const { id } = await client.vectorStores.create({});
    const { files } = client.vectorStores;
    const first = await files.uploadAndPoll(id, await file('pool.txt', 'The pool opens at seven.'), poll);
    assert.equal(first.status, 'completed');
    const upload = await client.files.create({
      file: await file('cats.md', '# Cats\n\nCats sleep.'),
      purpose: 'user_data',
    });
    const attributes = { topic: 'cats', n: 3, isNew: true };
    const second = await files.createAndPoll(id, { file_id: upload.id, attributes }, poll);
    assert.deepEqual([second.status, second.attributes], ['completed', attributes]);
    await files.update(upload.id, { vector_store_id: id, attributes: { topic: 'dogs' } });
    const polled = await files.poll(id, upload.id, poll);
    assert.deepEqual(polled.attributes, { topic: 'dogs' });
    const parts: string[] = [];
    for await (const { text } of files.content(first.id, { vector_store_id: id })) parts.push(text ?? '');
    assert.deepEqual(parts, ['The pool opens at seven.']);
    const failed = await files.uploadAndPoll(id, await file('bad.txt', '!'), poll);
    assert.deepEqual([failed.status, failed.last_error?.code], ['failed', 'invalid_file']);
    for await (const each of files.list(id, { limit: 1 })) await files.delete(each.id, { vector_store_id: id });
    assert.deepEqual((await files.list(id)).data, []);
  });

  it('fileBatches: createAndPoll, uploadAndPoll, listFiles and cancel', async () => {
    const { id } = await client.vectorStores.create({});
    const { fileBatches } = client.vectorStores;
    const texts = await Promise.all(['a', 'b', 'c'].map((name) => file(`${name}.txt`, `Text ${name}.`)));
    const batch = await fileBatches.uploadAndPoll(id, { files: texts }, poll);
    assert.deepEqual([batch.status, batch.file_counts.completed], ['completed', 3]);
    const ids: string[] = [];
    for await (const each of fileBatches.listFiles(batch.id, { vector_store_id: id, limit: 2 })) ids.push(each.id);
    assert.equal(new Set(ids).size, 3);
    const again = await fileBatches.createAndPoll(id, { file_ids: ids }, poll);
    assert.equal(again.status, 'completed');
    assert.equal((await fileBatches.cancel(again.id, { vector_store_id: id })).status, 'completed');
  });

  it('search, and an error that names the parameter', async () => {
    const { id } = await client.vectorStores.create({});
    for (const text of ['The pool opens at seven.', 'Cats sleep at night.'])
      await client.vectorStores.files.uploadAndPoll(id, await file(`${text.length}.txt`, text), poll);
    const found: string[] = [];
    for await (const { content } of client.vectorStores.search(id, {
      query: 'When does the pool open?',
      max_num_results: 1,
    }))
      found.push(content[0]?.text ?? '');
    assert.deepEqual(found, ['The pool opens at seven.']);
    await assert.rejects(
      async () => client.vectorStores.search(id, { query: 'a', max_num_results: 51 }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === 'max_num_results',
    );
  });
});
