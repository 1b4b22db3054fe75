import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type S3Server, startS3Server } from './fixtures/s3-server.ts';
import { encodeForm, sendForm } from './forms.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { newDataDir, runQuire, type Service, startService, startWorker, until } from './spawned-service.ts';

describe('the stores of several processes on one database', () => {
  let shared: SharedStores;
  let store: S3Server;
  let env: Record<string, string>;
  let first: Service;
  let baseId = '';
  before(async () => {
    shared = await createSharedStores();
    ({ store, env } = shared);
    first = await startService({ env });
    baseId = await createBase(first);
  });
  after(async () => {
    await first?.kill();
    await shared.close();
  });

  const send = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' };
    const response = await fetch(first.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
    return { status: response.status, json: (await response.json()) as any };
  };

  /** Creates a knowledge base with one document. */
  async function createBase(service: Service): Promise<string> {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: 'harbour.txt', content: Buffer.from('The harbour opens at seven.') },
    ];
    const file = await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key });
    const { json: base } = await send('POST', '/v1/knowledge-bases', { name: 'Harbour' });
    const source = { type: 'file_upload', config: { file_ids: [file.json.id] } };
    const created = await send('POST', `/v1/knowledge-bases/${base.id}/data-sources`, source);
    assert.equal(created.status, 200);
    await until(async () => (await send('GET', `/v1/knowledge-bases/${base.id}`)).json.chunk_count === 1);
    return base.id;
  }

  async function findHarbour(): Promise<number> {
    const query = { query: 'harbour', search_type: 'keyword' };
    const { status, json } = await send('POST', `/v1/knowledge-bases/${baseId}/retrieve`, query);
    return status === 200 ? json.results.length : status;
  }

  /**
   * What a process says that must not start with these changes of its environment; an empty value leaves a variable
   * out.
   */
  async function startRejection(changes: Record<string, string>, command = 'serve'): Promise<string> {
    const changed = Object.fromEntries(Object.entries({ ...env, ...changes }).filter(([, value]) => value !== ''));
    const { code, stdout, stderr } = await runQuire([command], { env: changed, killAfterMs: 60_000 });
    assert.equal(code, 1, `${stdout}${stderr}`);
    return stderr.trim();
  }

  it('a process with another index, blob store or secrets key does not start, names the setting, and harms nothing', async () => {
    const other = await startS3Server();
    const changes: [RegExp, Record<string, string>, string?][] = [
      [
        /^The search index of this process \(.*\/index\) is not .* belongs to the database, which is s3:.* QUIRE_INDEX_URL/s,
        { QUIRE_INDEX_URL: '' },
      ],
      [/^The search index .*prefix-2.* QUIRE_INDEX_URL/s, { QUIRE_INDEX_URL: store.url('prefix-2') }],
      [/^The blob store .*\/blobs\).* QUIRE_BLOBS_URL/s, { QUIRE_BLOBS_URL: '' }],
      [/^The blob store .* QUIRE_BLOBS_URL/s, { QUIRE_BLOBS_URL: other.url('blobs') }, 'worker'],
      [
        /^The key of stored credentials .*\(QUIRE_SECRETS_KEY\).* Set QUIRE_SECRETS_KEY/s,
        { QUIRE_SECRETS_KEY: 'e'.repeat(64) },
      ],
      [/^The key of stored credentials .*secrets\.key\).* Set QUIRE_SECRETS_KEY/s, { QUIRE_SECRETS_KEY: '' }, 'worker'],
    ];
    const said = await mapPairs(changes, ([, change, command]) => startRejection(change, command));
    await other.close();
    for (const [at, [pattern]] of changes.entries()) assert.match(said[at] ?? '', pattern);
    assert.equal(await findHarbour(), 1);
    assert.doesNotMatch(first.stderr(), /will be rebuilt/);
  });

  it('a store is recognized by its content: by another URL, beside another data folder', async () => {
    const byName = (url: string) => url.replace('127.0.0.1', 'localhost');
    const worker = await startWorker({
      dataDir: newDataDir(),
      env: { ...env, QUIRE_INDEX_URL: byName(store.url('index')), QUIRE_BLOBS_URL: byName(store.url('blobs')) },
    });
    assert.deepEqual(await worker.stop(), { code: 0, signal: null });
  });

  it('commands that read the index reject another one; the others need none', async () => {
    const { QUIRE_INDEX_URL: _, ...local } = env;
    const options = { env: local, dataDir: newDataDir() };
    assert.match((await runQuire(['index', 'check'], options)).stderr, /^The search index .* QUIRE_INDEX_URL/);
    assert.match((await runQuire(['doctor'], options)).stderr, /^The search index .* QUIRE_INDEX_URL/m);
    assert.equal((await runQuire(['keys', 'list'], options)).code, 0);
  });

  it("'db forget-store' accepts another index, and then the former one is rejected", async () => {
    const changed = { ...env, QUIRE_INDEX_URL: store.url('index-2') };
    assert.equal((await runQuire(['db', 'forget-store', 'index'], { env: changed })).code, 0);
    const second = await startService({ env: changed });
    assert.match(await startRejection({}, 'worker'), /QUIRE_INDEX_URL/);
    await second.kill();
  });
});

/** Two processes at a time. */
async function mapPairs<T, U>(items: readonly T[], map: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (let at = 0; at < items.length; at += 2) results.push(...(await Promise.all(items.slice(at, at + 2).map(map))));
  return results;
}
