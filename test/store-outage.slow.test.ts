import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { encodeForm, sendForm } from './forms.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { newDataDir, runQuire, type Service, startApi, startService, startWorker, until } from './spawned-service.ts';

const FILES = 6;

describe('an outage of the object store', () => {
  let shared: SharedStores;
  let service: Service;
  before(async () => {
    shared = await createSharedStores();
    service = await startService({ env: shared.env });
  });
  after(async () => {
    shared.store.fault = null;
    await service?.kill();
    await shared.close();
  });

  const send = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
    return { status: response.status, json: (await response.json()) as any, headers: response.headers };
  };
  const upload = (name: string, content: string) => {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: name, content: Buffer.from(content) },
    ];
    return sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key });
  };

  /** Starts to ingest files, each with a word of its own. */
  async function startIngestion(): Promise<string> {
    const files = await Promise.all(
      Array.from({ length: FILES }, async (_, at) => (await upload(`${at}.txt`, `This is about word${at}.`)).json.id),
    );
    const { json: base } = await send('POST', '/v1/knowledge-bases', { name: 'Outage' });
    const source = { type: 'file_upload', config: { file_ids: files } };
    assert.equal((await send('POST', `/v1/knowledge-bases/${base.id}/data-sources`, source)).status, 200);
    return base.id;
  }

  async function assertIngested(id: string): Promise<void> {
    const path = `/v1/knowledge-bases/${id}/ingestion-jobs`;
    await until(async () => ['completed', 'failed'].includes((await send('GET', path)).json.data[0].status));
    const [job] = (await send('GET', path)).json.data;
    assert.deepEqual([job.status, job.documents_processed, job.documents_failed], ['completed', FILES, 0]);
    for (let at = 0; at < FILES; at += 1) {
      const query = { query: `word${at}`, search_type: 'keyword' };
      const found = await send('POST', `/v1/knowledge-bases/${id}/retrieve`, query);
      assert.equal(found.json.results?.length, 1, JSON.stringify(found.json));
    }
  }

  /**
   * Fails the requests that `isAffected` selects: they are answered with 503, or their connection breaks. Returns how
   * many failed so far.
   */
  function failRequests(isAffected: (operation: string, key: string) => boolean): () => number {
    let failed = 0;
    shared.store.fault = (operation, key) => {
      if (!isAffected(operation, key)) return null;
      failed += 1;
      return failed % 2 === 0 ? 503 : 'reset';
    };
    return () => failed;
  }

  it('of the blobs suspends the reading of documents, which goes on afterwards', async () => {
    const failed = failRequests((operation, key) => operation === 'GET object' && key.startsWith('blobs/'));
    const id = await startIngestion();
    // Each file is tried by several calls, of which each makes four attempts.
    await until(() => failed() > 8 * FILES);
    const [job] = (await send('GET', `/v1/knowledge-bases/${id}/ingestion-jobs`)).json.data;
    assert.deepEqual([job.status, job.documents_processed, job.documents_failed], ['processing', 0, 0]);
    shared.store.fault = null;
    await assertIngested(id);
    assert.match(service.stderr(), /store unavailable, ingestion suspended/);
  });

  it('of the index suspends writes, and marks no index as damaged', async () => {
    const failed = failRequests((operation, key) => operation !== 'GET objects' && key.startsWith('index/'));
    const id = await startIngestion();
    await until(() => failed() > 20);
    const [job] = (await send('GET', `/v1/knowledge-bases/${id}/ingestion-jobs`)).json.data;
    assert.deepEqual([job.status, job.documents_failed], ['processing', 0]);
    shared.store.fault = null;
    await assertIngested(id);
    failRequests((_operation, key) => key.startsWith('index/'));
    const search = { query: 'word1', search_type: 'vector' };
    // A table that was read within the last second is searched without a request.
    await until(async () => (await send('POST', `/v1/knowledge-bases/${id}/retrieve`, search)).status === 503);
    const { headers } = await send('POST', `/v1/knowledge-bases/${id}/retrieve`, search);
    assert.ok(Number(headers.get('retry-after')) > 0);
    const hybrid = await send('POST', `/v1/knowledge-bases/${id}/retrieve`, { query: 'word1' });
    assert.deepEqual([hybrid.status, hybrid.json.search_type], [200, 'keyword']);
    assert.ok(hybrid.json.results.length > 0);
    // The failed search has started a check of the index, which the outage must not turn into a rebuild.
    await until(() => /search index could not be checked/.test(service.stderr()));
    shared.store.fault = null;
    await until(async () => (await send('POST', `/v1/knowledge-bases/${id}/retrieve`, search)).status === 200);
    assert.doesNotMatch(service.stderr(), /will be rebuilt|cargo|RetryError/);
  });

  it('answers 503 with Retry-After on file routes, and /readyz names the store', async () => {
    const { id } = (await upload('kept.txt', 'kept')).json;
    const content = () =>
      fetch(`${service.url}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${service.key}` } });
    failRequests((_operation, key) => key.startsWith('blobs/') || key === '');
    const answers = await Promise.all([
      upload('new.txt', 'new'),
      content().then(async (answer) => {
        const json = (await answer.json()) as { error: { code: string } };
        return { status: answer.status, json, headers: answer.headers };
      }),
    ]);
    for (const { status, json, headers } of answers) {
      assert.deepEqual([status, json.error.code], [503, 'engine_unavailable']);
      assert.ok(Number(headers.get('retry-after')) > 0);
    }
    const ready = await send('GET', '/readyz');
    assert.equal(ready.status, 503);
    assert.match(JSON.stringify(ready.json), /"name":"files","ok":false/);
    shared.store.fault = null;
    assert.equal((await content()).status, 200);
    const { json } = await send('GET', '/v1/files');
    assert.ok(json.data.every(({ filename }: { filename: string }) => filename !== 'new.txt'));
  });

  it('during a start: the process waits, answers /readyz with 503, and stops when it is told to', async () => {
    shared.store.fault = () => 503;
    const port = await freePort();
    const env = { ...shared.env, QUIRE_PORT: String(port) };
    const status = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        (answer) => answer.status,
        () => null,
      );
    const dataDir = newDataDir();
    const stopped = runQuire(['api'], { env, dataDir });
    await until(async () => (await status('/readyz')) === 503);
    const doctor = await runQuire(['doctor'], { env, dataDir });
    process.kill(Number(/process (\d+)/.exec(doctor.stdout)?.[1]), 'SIGTERM');
    const ended = await stopped;
    assert.deepEqual([ended.code, ended.signal], [0, null]);
    assert.match(ended.stderr, /store unavailable, the start waits for it/);
    assert.doesNotMatch(ended.stderr, /cargo|RetryError/);

    const [starting, startingWorker] = [startApi({ env }), startWorker({ env: shared.env, dataDir: newDataDir() })];
    await until(async () => (await status('/readyz')) === 503);
    assert.deepEqual([await status('/healthz'), await status('/v1/models')], [200, 503]);
    shared.store.fault = null;
    const [api, worker] = await Promise.all([starting, startingWorker]);
    assert.equal(await status('/readyz'), 200);
    await Promise.all([api.kill(), worker.kill()]);
  });
});

/** A port that no process uses. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
