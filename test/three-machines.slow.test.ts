/** The way of docs/use/tutorials/three-machines.md, with the stores of the tests. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeForm, sendForm } from './forms.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { newDataDir, type Service, startService, startWorker, until, useEmbeddedDatabases } from './spawned-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests assert on whatever came over the wire.
type Json = any;

type Caller = Pick<Service, 'url' | 'key'>;

useEmbeddedDatabases();

describe('the move of an embedded service to three machines', () => {
  let stores: SharedStores;
  const started: { kill(): Promise<unknown> }[] = [];
  before(async () => {
    stores = await createSharedStores({ isMigrated: false });
  });
  after(async () => {
    await Promise.all(started.map((each) => each.kill()));
    await stores.close();
  });

  const send = async ({ url, key }: Caller, method: string, path: string, body?: object): Promise<Json> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const json: Json = await response.json();
    assert.equal(response.status, 200, `${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  };

  /** Copies a folder to objects whose names `name` gives for the paths of files. */
  const copy = (folder: string, name: (path: string) => string) => {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      stores.store.objects.set(name(path.slice(folder.length + 1)), readFileSync(path));
    }
  };

  it('keeps files, keys, credentials and searches, and shares them between two machines', async () => {
    const dataDir = newDataDir();
    const single = await startService({ dataDir });
    started.push(single);
    const { key } = single;
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: "It's open.md", content: Buffer.from('The library in Ashford opens at nine.') },
    ];
    const file = (await sendForm(`${single.url}/v1/files`, encodeForm(parts), { key })).json.id;
    const base = (await send(single, 'POST', '/v1/knowledge-bases', { name: `It's "mine"` })).id;
    const sources = `/v1/knowledge-bases/${base}/data-sources`;
    await send(single, 'POST', sources, { type: 'file_upload', config: { file_ids: [file] } });
    await until(async () => (await send(single, 'GET', `/v1/knowledge-bases/${base}`)).document_count === 1);
    await until(async () => (await send(single, 'GET', `/v1/knowledge-bases/${base}`)).status === 'active');
    const search = { query: 'When does the library open?', search_type: 'hybrid' };
    const retrieve = `/v1/knowledge-bases/${base}/retrieve`;
    const { results } = await send(single, 'POST', retrieve, search);
    assert.equal(results.length, 1);
    await single.stop();

    const moved = await single.quire('db', 'move', '--to', stores.database.url);
    assert.equal(moved.code, 0, moved.stderr);
    copy(join(dataDir, 'blobs'), (path) => `blobs/${path.split('/').at(-1)}`);
    copy(join(dataDir, 'index'), (path) => `index/${path}`);
    const env = { ...stores.env, QUIRE_SECRETS_KEY: readFileSync(join(dataDir, 'secrets.key'), 'utf8').trim() };

    const machines = [
      await startService({ dataDir: newDataDir(), env }),
      await startService({ dataDir: newDataDir(), env }),
    ] as const;
    started.push(...machines, await startWorker({ dataDir: newDataDir(), env }));
    for (const machine of machines) {
      assert.deepEqual((await send({ ...machine, key }, 'POST', retrieve, search)).results, results);
      const content = await fetch(`${machine.url}/v1/files/${file}/content`, {
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(await content.text(), 'The library in Ashford opens at nine.');
    }
    const { id } = await send({ ...machines[0], key }, 'POST', '/v1/knowledge-bases', { name: 'New' });
    assert.equal((await send({ ...machines[1], key }, 'GET', `/v1/knowledge-bases/${id}`)).name, 'New');
  });
});
