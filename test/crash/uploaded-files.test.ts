import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MAX_UPLOAD_BYTES } from '../../src/files/schema.ts';
import { encodeForm, longForm, sendForm } from '../forms.ts';
import { newDataDir, type Service, startService, until, useEmbeddedDatabases, useService } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

/** Maximum upload time before the kill; each round draws a random time. */
const LOAD_MS = 2_000;
const UPLOADERS = 6;
/** Maximum memory growth of the service during a large upload. */
const MAX_ADDED_BYTES = 64_000_000;
const SAMPLE_MS = 20;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** No model is needed. */
const env = { QUIRE_UPSTREAM_URL: 'http://127.0.0.1:9' };

const get = (service: Service, path: string) =>
  fetch(service.url + path, { headers: { authorization: `Bearer ${service.key}` } });

/** Lists the ids of all files of the service. */
async function listed(service: Service): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const page = (await (await get(service, `/v1/files?limit=100${after}`)).json()) as {
      data: { id: string }[];
      has_more: boolean;
      last_id: string;
    };
    ids.push(...page.data.map(({ id }) => id));
    if (!page.has_more) return ids;
    after = `&after=${page.last_id}`;
  }
}

/** Lists the blobs in the data folder, complete or not. */
const kept = (dataDir: string) =>
  readdirSync(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length;

describe('SIGKILL during uploads', () => {
  /**
   * Uploads and deletes files until the service is killed. Returns acknowledged uploads without a requested deletion.
   */
  async function killUnderUploads(service: Service): Promise<Map<string, string>> {
    const promised = new Map<string, string>();
    let isGone = false;
    const uploader = async (number: number) => {
      for (let at = 0; !isGone; at += 1) {
        const content = randomBytes(1 + Math.floor(Math.random() * (number % 3 === 0 ? 3_000_000 : 3_000)));
        const bytes = Buffer.concat([Buffer.from('%PDF-'), content]);
        const parts = [
          { name: 'purpose', content: 'knowledge-base' },
          { name: 'file', filename: `${number}.pdf`, content: bytes },
        ];
        const answer = await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key }).catch(
          () => null,
        );
        if (answer?.status !== 200) continue;
        if (at % 4 === 3) {
          const headers = { authorization: `Bearer ${service.key}` };
          await fetch(`${service.url}/v1/files/${answer.json.id}`, { method: 'DELETE', headers }).catch(() => null);
        } else promised.set(answer.json.id, sha256(bytes));
      }
    };
    const uploaders = Array.from({ length: UPLOADERS }, (_, number) => uploader(number));
    await until(() => promised.size > 0);
    await pause(Math.random() * LOAD_MS);
    const ended = service.kill();
    isGone = true;
    assert.equal((await ended).signal, 'SIGKILL');
    await Promise.all(uploaders);
    return promised;
  }

  it('loses no acknowledged file, and leaves no orphaned blobs', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    const promised = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const service = await startService({ dataDir, env });
      for (const [id, hash] of await killUnderUploads(service)) promised.set(id, hash);
    }
    const service = await startService({ dataDir, env });
    const ids = await listed(service);
    for (const id of ids) {
      const content = await get(service, `/v1/files/${id}/content`);
      assert.equal(content.status, 200);
      const hash = sha256(Buffer.from(await content.arrayBuffer()));
      assert.equal(content.headers.get('etag'), `"${hash}"`, 'a file is not what it was when it was stored');
      if (promised.has(id)) assert.equal(hash, promised.get(id));
    }
    const missing = [...promised.keys()].filter((id) => !ids.includes(id));
    assert.deepEqual(missing, []);
    await until(() => kept(dataDir) === ids.length);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
  });
});

/** Anonymous memory of a process in bytes. File-backed pages are excluded, because the kernel caches them at will. */
function readMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const parseKilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return parseKilobytes('RssAnon') + parseKilobytes('VmSwap');
}

/**
 * Measures the memory growth of a process during `work`, relative to the minimum before it, so that memory of the start
 * that is freed meanwhile hides nothing.
 */
async function addedBy<T>(pid: number, work: () => Promise<T>): Promise<{ added: number; result: T }> {
  let lowest = readMemory(pid);
  let added = 0;
  const watch = setInterval(() => {
    const memory = readMemory(pid);
    lowest = Math.min(lowest, memory);
    added = Math.max(added, memory - lowest);
  }, SAMPLE_MS);
  try {
    const result = await work();
    return { added, result };
  } finally {
    clearInterval(watch);
  }
}

describe('a large upload', { skip: process.platform !== 'linux' && 'memory is read from /proc' }, () => {
  const service = useService({ env });

  for (const [filename, purpose] of [
    ['a.txt', 'knowledge-base'],
    ['a.jsonl', 'fine-tune'],
  ] as const) {
    it(
      `of ${MAX_UPLOAD_BYTES} bytes for ${purpose} adds less than ${MAX_ADDED_BYTES} to memory`,
      NO_TIME_LIMIT,
      async () => {
        const url = `${service.url}/v1/files`;
        const send = (bytes: number) => sendForm(url, longForm(bytes, filename, purpose), { key: service.key });
        // Warm-up: modules loaded at the first use do not count.
        for (let at = 0; at < 3; at += 1) assert.equal((await send(200_000)).status, 200);
        // Repeated: V8 may grow its heap once.
        const first = await addedBy(service.pid, () => send(MAX_UPLOAD_BYTES));
        const { added, result: answer } = await addedBy(service.pid, () => send(MAX_UPLOAD_BYTES));
        assert.equal(answer.json?.bytes, MAX_UPLOAD_BYTES, answer.text);
        console.log(`${purpose}: ${Math.round(first.added / 1e6)} and ${Math.round(added / 1e6)} MB`);
        assert.ok(Math.min(first.added, added) < MAX_ADDED_BYTES, `they added ${first.added} and ${added} bytes`);
        assert.ok(Math.max(first.added, added) < 2 * MAX_ADDED_BYTES, `they added ${first.added} and ${added} bytes`);

        const hash = createHash('sha256');
        const content = await get(service, `/v1/files/${answer.json.id}/content`);
        for await (const piece of content.body ?? []) hash.update(piece);
        assert.equal(content.headers.get('etag'), `"${hash.digest('hex')}"`);
        const larger = await send(MAX_UPLOAD_BYTES + 1);
        assert.deepEqual([larger.status, larger.json.error.code], [413, 'file_too_large']);
      },
    );
  }
});
