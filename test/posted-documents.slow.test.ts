import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeArchitecture } from './fixtures/architectures/write-architecture.ts';
import { useHub } from './fixtures/hub-server.ts';
import { newDataDir, type Service, startService, until } from './spawned-service.ts';

const EMBEDDER = 'qwen3-embedding-0.6b';
const HUB_PATH = '/Qwen/Qwen3-Embedding-0.6B-GGUF/resolve/main/Qwen3-Embedding-0.6B-Q8_0.gguf';

describe('a posted document of a service that is a process', () => {
  const hub = useHub();
  const folder = mkdtempSync(join(tmpdir(), 'quire-posted-'));
  let dataDir: string;
  let service: Service;
  let base: string;
  const start = () => startService({ env: { QUIRE_HUB_URL: hub.url, QUIRE_MODELS_PULL: 'never' }, dataDir });
  before(async () => {
    hub.files.set(HUB_PATH, readFileSync(await writeArchitecture(folder, 'qwen-3-embedding', 'q8_0')));
    dataDir = newDataDir();
    service = await start();
    base = `/v1/knowledge-bases/${(await send('POST', '/v1/knowledge-bases', { name: 'Base' })).json.id}`;
  });
  after(async () => {
    await service?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  async function send(method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
    return { status: response.status, json: (await response.json()) as any };
  }
  const search = async (search_type = 'hybrid') =>
    send('POST', `${base}/retrieve`, { query: 'granite stone', search_type });
  const texts = async () => (await search()).json.results.map(({ text }: { text: string }) => text);

  it('is ingested by the next start when the process is killed after the response', async () => {
    const { status, json } = await send('POST', `${base}/documents`, { key: 'a', text: 'Granite is a stone.' });
    await service.kill();
    assert.deepEqual([status, json.status], [202, 'processing']);
    service = await start();
    await until(async () => (await send('GET', `${base}/documents/${json.id}`)).json.status === 'completed');
    assert.deepEqual(await texts(), ['Granite is a stone.']);
  });

  it('is one of two versions in every search while posts replace it', async () => {
    const version = (n: number) => `Granite is a stone, version ${n}.`;
    let isReplaced = false;
    let latest = 0;
    const seen: number[] = [];
    const searching = (async () => {
      while (!isReplaced) {
        const hits = await texts();
        assert.equal(hits.length, 1, JSON.stringify(hits));
        seen.push(Number(/version (\d+)/.exec(hits[0])?.[1] ?? 0));
      }
    })();
    while (latest < 8) {
      latest += 1;
      const { json } = await send('POST', `${base}/documents`, { key: 'a', text: version(latest) });
      const job = `${base}/ingestion-jobs/${json.ingestion_job_id}`;
      await until(async () => (await send('GET', job)).json.status === 'completed');
    }
    isReplaced = true;
    await searching;
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    assert.deepEqual(await texts(), [version(8)]);
  });

  it('is embedded again by a new model, through a kill of the process, and found by vectors all the time', async () => {
    for (let i = 0; i < 12; i++) {
      const text = Array.from({ length: 300 }, (_, n) => `Sentence ${n} of text ${i} isn't about "stone".`).join(' ');
      await send('POST', `${base}/documents`, { key: `other ${i}`, text });
    }
    await until(async () => {
      const { document_count, status } = (await send('GET', base)).json;
      return document_count === 13 && status === 'active';
    });
    assert.equal((await send('POST', '/v1/admin/model-pulls', { source: EMBEDDER, bind: true })).status, 200);
    const backend = async () => (await send('GET', '/v1/models/embed-large-en-v1.5')).json.backend.engine;
    const searchAll = async () => {
      for (const type of ['hybrid', 'vector', 'keyword']) {
        const { status, json } = await search(type);
        assert.equal(status, 200, `${type}: ${JSON.stringify(json)}`);
        assert.ok(json.results.length > 0, type);
      }
    };
    const status = async () => (await send('GET', base)).json.status;
    await until(async () => {
      await searchAll();
      return (await backend()) === 'local' && (await status()) === 'indexing';
    });
    await service.kill();
    service = await start();
    await until(async () => {
      await searchAll();
      return (await status()) === 'active';
    });
    assert.equal(await backend(), 'local');
    await searchAll();
    const { data } = (await send('GET', '/v1/admin/models')).json;
    const bound = data.filter(({ stored_model }: { stored_model: string | null }) => stored_model !== null);
    assert.deepEqual(
      bound.map(({ id, stored_model }: { id: string; stored_model: string }) => [id, stored_model]),
      [['embed-large-en-v1.5', EMBEDDER]],
    );
  });
});
