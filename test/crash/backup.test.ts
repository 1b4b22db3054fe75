import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { assertEveryLineOnce, chatLine, createBatchOf, waitForBatch } from '../batches.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { startS3Server } from '../fixtures/s3-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { encodeForm, sendForm } from '../forms.ts';
import { newDataDir, runQuire, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { chat, chatBody, readUsageRows } from './load.ts';
import { NO_TIME_LIMIT } from './rounds.ts';

useEmbeddedDatabases();

const UPSTREAM = 'general-70b';
const BATCH_LINES = 60;
/** The shortest that the setting allows. */
const ARCHIVE_SECONDS = '5';
/** The jobs of the killed process are found after 30 s without a heartbeat. */
const BATCH_MS = 180_000;
/** Pause of each client between two calls. */
const LOAD_PAUSE_MS = 20;
const PASSPHRASE = 'correct horse battery staple';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
type Json = any;

async function call(service: Service, method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}

async function upload(service: Service, filename: string, content: Buffer): Promise<string | null> {
  const parts = [
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename, content },
  ];
  const answer = await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key }).catch(() => null);
  return answer?.status === 200 ? answer.json.id : null;
}

/** Creates a knowledge base with one document about each word; resolves when they are ingested. */
async function makeBase(service: Service, words: readonly string[]): Promise<string> {
  const { id } = await call(service, 'POST', '/v1/knowledge-bases', { name: 'Fruit' });
  const file_ids = await Promise.all(
    words.map((word) => upload(service, `${word}.txt`, Buffer.from(`The ${word} is ripe in summer.`))),
  );
  const source = await call(service, 'POST', `/v1/knowledge-bases/${id}/data-sources`, {
    type: 'file_upload',
    config: { file_ids },
  });
  const path = `/v1/knowledge-bases/${id}/data-sources/${source.id}`;
  await until(async () => (await call(service, 'GET', path)).status === 'active');
  return id;
}

const retrieve = (service: Service, base: string, search_type: string) =>
  call(service, 'POST', `/v1/knowledge-bases/${base}/retrieve`, { query: 'ripe banana', search_type });

/** Names of the archived files of WAL. */
const archivedWal = (target: string) => (existsSync(join(target, 'wal')) ? readdirSync(join(target, 'wal')) : []);

const okJson = ({ code, stdout, stderr }: Awaited<ReturnType<typeof runQuire>>): Json => {
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
};

/** What a client was told, and when. */
interface Acknowledged {
  files: Map<string, { sha256: string; atMs: number }>;
  chats: Map<string, number>;
}

/** Uploads, deletes, chats and ingests until `isOver`, without taking the whole machine from the service. */
async function load(service: Service, base: string, isOver: () => boolean): Promise<Acknowledged> {
  const acknowledged: Acknowledged = { files: new Map(), chats: new Map() };
  const uploader = async (number: number) => {
    for (let at = 0; !isOver(); at += 1) {
      await pause(LOAD_PAUSE_MS);
      const bytes = Buffer.concat([Buffer.from('%PDF-'), randomBytes(1 + Math.floor(Math.random() * 200_000))]);
      const id = await upload(service, `${number}-${at}.pdf`, bytes);
      if (id === null) continue;
      if (at % 3 === 2) await call(service, 'DELETE', `/v1/files/${id}`).catch(() => null);
      else acknowledged.files.set(id, { sha256: sha256(bytes), atMs: Date.now() });
    }
  };
  const caller = async (number: number) => {
    while (!isOver()) {
      await pause(LOAD_PAUSE_MS);
      const answer = await chat(service, chatBody(UPSTREAM, number % 2 === 0, 3));
      if (answer.whole && answer.status === 200) acknowledged.chats.set(answer.requestId, Date.now());
    }
  };
  const ingester = async () => {
    for (let at = 0; !isOver(); at += 1) {
      await pause(LOAD_PAUSE_MS);
      const id = await upload(service, `${at}.txt`, Buffer.from(`Note ${at}: the pear is green.`));
      if (id === null) continue;
      const source = { type: 'file_upload', config: { file_ids: [id] } };
      const path = `/v1/knowledge-bases/${base}/data-sources`;
      const made = await call(service, 'POST', path, source).catch(() => null);
      if (made !== null && at % 2 === 1) await call(service, 'DELETE', `${path}/${made.id}`).catch(() => null);
    }
  };
  await Promise.all([uploader(0), uploader(1), caller(0), caller(1), ingester()]);
  return acknowledged;
}

describe('backup and restore', () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startModelServer();
  });
  after(() => upstream.close());
  const settings = (target: string, more: Record<string, string> = {}) => ({
    QUIRE_UPSTREAM_URL: upstream.baseUrl,
    QUIRE_BACKUP_URL: target,
    QUIRE_BACKUP_ARCHIVE_SECONDS: ARCHIVE_SECONDS,
    ...more,
  });

  it(
    'has everything that was acknowledged before the last archived WAL, and bills it once',
    NO_TIME_LIMIT,
    async (t) => {
      const target = newDataDir();
      const env = settings(target);
      const first = await startService({ env });
      t.after(() => first.kill());
      const fruit = await makeBase(first, ['apple', 'banana', 'cherry']);
      const notes = (await call(first, 'POST', '/v1/knowledge-bases', { name: 'Notes' })).id;
      const answers = await Promise.all(['keyword', 'vector', 'hybrid'].map((type) => retrieve(first, fruit, type)));
      const texts = Array.from({ length: BATCH_LINES }, (_, at) => chatLine(`line-${at}`, `Hi ${at}`));
      const batch = await createBatchOf(first, texts);
      let isOver = false;
      // Also when an assertion fails: the clients would keep the file running.
      t.after(() => {
        isOver = true;
      });
      const loading = load(first, notes, () => isOver);
      const created = okJson(await first.quire('backup', 'create', '--json'));
      assert.ok(Number(created.files) >= 3);
      const before = archivedWal(target).length;
      await until(() => archivedWal(target).length >= before + 2);
      await first.kill();
      isOver = true;
      const acknowledged = await loading;
      rmSync(first.dataDir, { recursive: true });

      const dataDir = newDataDir();
      const restored = okJson(await runQuire(['restore', '--json'], { dataDir, env }));
      assert.deepEqual(restored.missing, []);
      const untilMs = Date.parse(restored.at);
      const service = await startService({ dataDir, env });
      t.after(() => service.kill());
      const files = [...acknowledged.files].filter(([, { atMs }]) => atMs <= untilMs);
      const chats = [...acknowledged.chats].filter(([, atMs]) => atMs <= untilMs);
      assert.ok(files.length > 0 && chats.length > 0);
      for (const [id, file] of files) {
        const response = await fetch(`${service.url}/v1/files/${id}/content`, {
          headers: { authorization: `Bearer ${service.key}` },
        });
        assert.equal(sha256(Buffer.from(await response.arrayBuffer())), file.sha256, id);
      }
      await until(async () => (await retrieve(service, fruit, 'vector')).results !== undefined);
      const again = await Promise.all(['keyword', 'vector', 'hybrid'].map((type) => retrieve(service, fruit, type)));
      assert.deepEqual(again, answers);
      const ended = await waitForBatch(service, batch.id, undefined, BATCH_MS);
      assert.equal(ended.status, 'completed');
      const ids = Array.from({ length: BATCH_LINES }, (_, at) => `line-${at}`);
      const { output } = await assertEveryLineOnce(service, ended, ids);
      await service.stop();
      const counts = new Map<string, number>();
      for (const { requestId } of await readUsageRows(dataDir)) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
      for (const [requestId] of chats) assert.equal(counts.get(requestId), 1, requestId);
      for (const { response } of output) assert.equal(counts.get(response.request_id), 1);
    },
  );

  it(
    'restores a time between two changes, from S3 and encrypted, and only with the passphrase',
    NO_TIME_LIMIT,
    async (t) => {
      const s3 = await startS3Server();
      t.after(() => s3.close());
      const env = settings(s3.url('backups'), {
        QUIRE_BACKUP_PASSPHRASE: PASSPHRASE,
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        // Due at the first start, as every schedule is.
        QUIRE_BACKUP_SCHEDULE: '0 3 1 1 *',
      });
      const first = await startService({ env });
      t.after(() => first.kill());
      const list = async () => okJson(await first.quire('backup', 'list', '--json'));
      await until(async () => (await list()).length === 1);
      const names = ['before', 'between', 'after'];
      const ids: (string | null)[] = [];
      const times: number[] = [];
      for (const name of names) {
        ids.push(await upload(first, `${name}.txt`, Buffer.from(`walrus ${name}`)));
        times.push(Date.now());
        await until(() => Date.now() > (times.at(-1) ?? 0) + 20);
      }
      await first.stop();
      assert.ok([...s3.objects.values()].every((object) => !object.includes('walrus')));
      const [, between = 0] = times;
      const at = new Date(between + 5).toISOString();
      const wrong = await runQuire(['restore', '--at', at], {
        env: { ...env, QUIRE_BACKUP_PASSPHRASE: 'wrong passphrase' },
      });
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /^QUIRE_BACKUP_PASSPHRASE is not the passphrase of the backups in s3:\/\/bucket/m);

      const dataDir = newDataDir();
      assert.equal(okJson(await runQuire(['restore', '--at', at, '--json'], { dataDir, env })).files, 2);
      const service = await startService({ dataDir, env });
      t.after(() => service.kill());
      const files = await call(service, 'GET', '/v1/files');
      assert.deepEqual(files.data.map(({ id }: Json) => id).toSorted(), ids.slice(0, 2).toSorted());
      // The new timeline gets a base backup of its own.
      await until(async () => okJson(await service.quire('backup', 'list', '--json')).length === 2);
      await service.stop();

      const occupied = await runQuire(['restore'], { dataDir, env });
      assert.match(occupied.stderr, /is not empty\. Restore into a new folder .*Nothing was changed\./);
      for (const [when, expected] of [
        ['2020-01-01T00:00:00Z', /cannot be restored: the first backup is of 2/],
        ['2099-01-01T00:00:00Z', /cannot be restored: the archived WAL ends at 2/],
      ] as const) {
        const outside = await runQuire(['restore', '--at', when], { env });
        assert.equal(outside.code, 1);
        assert.match(outside.stderr, expected);
      }
    },
  );

  it('is not disturbed by a create that was killed, and names damaged files', NO_TIME_LIMIT, async (t) => {
    const target = newDataDir();
    const env = settings(target);
    const first = await startService({ env });
    await upload(first, 'note.txt', Buffer.from('a note'));
    const creating = first.quire('backup', 'create');
    const bases = () => (existsSync(join(target, 'base')) ? readdirSync(join(target, 'base')) : []);
    await until(() => bases().length === 1);
    await first.kill();
    assert.notEqual((await creating).code, 0);
    const { dataDir } = first;
    assert.deepEqual(okJson(await runQuire(['backup', 'list', '--json'], { dataDir, env })), []);

    const service = await startService({ dataDir, env });
    t.after(() => service.kill());
    const created = okJson(await service.quire('backup', 'create', '--json'));
    assert.deepEqual(bases(), [created.id]);
    assert.equal((await service.quire('backup', 'verify')).code, 0);

    const cut = join(target, 'base', created.id, 'pack-control');
    truncateSync(cut, statSync(cut).size - 1);
    const [blobFolder = ''] = readdirSync(join(target, 'blobs'));
    const [blob = ''] = readdirSync(join(target, 'blobs', blobFolder));
    const path = join(target, 'blobs', blobFolder, blob);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const verified = await service.quire('backup', 'verify', created.id);
    assert.equal(verified.code, 1);
    assert.match(verified.stdout, new RegExp(`base/${created.id}/pack-control is damaged\\.`));
    assert.match(verified.stdout, new RegExp(`blobs/${blobFolder}/${blob} is damaged\\.`));
    assert.match(verified.stderr, /2 objects of the backups cannot be used/);
    rmSync(cut);
    const restored = newDataDir();
    const failed = await runQuire(['restore'], { dataDir: restored, env });
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /pack-control is missing/);
    assert.deepEqual(readdirSync(restored), []);
  });
});
