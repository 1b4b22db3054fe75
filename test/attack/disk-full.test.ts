import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { spool } from '../../src/extraction/spool.ts';
import { StoreNotWritableError } from '../../src/lib/store-unavailable.ts';
import { encodeForm, sendForm } from '../forms.ts';
import {
  newDataDir,
  runQuire,
  type Service,
  type ServiceOptions,
  startService,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { AWKWARD_TEXTS } from '../support/awkward.ts';

useEmbeddedDatabases();

const FILL_BYTES = 1024 * 1024;
const STORES = ['database', 'files', 'index'];
const CHAT = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello!' }] };
/** PostgreSQL notices a full disk by a temporary file, also where Quire does not see its folder. */
const DATABASE_PROBE = /could not write to file "base\/pgsql_tmp\/.*No space left on device \(code 53100\)/;
const FREE_SPACE = 'Free space on its disk, or make it writable';

const started: Service[] = [];
const mounted: string[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.kill()));
  // Lazy unmount: children of a killed service may exit later.
  for (const folder of mounted.splice(0)) execFileSync('umount', ['--lazy', folder]);
});

/** Starts a service that is killed at the end of its test. */
async function start(options: ServiceOptions): Promise<Service> {
  const service = await startService(options);
  started.push(service);
  return service;
}

/** Mounts a memory file system at the folder. */
function mountDisk(folder: string, megabytes: number): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
  mounted.push(folder);
}

/** The reason why this machine cannot run these tests; false if it can. */
function cannotMount(): string | false {
  if (process.platform !== 'linux') return 'small disks are made with tmpfs, which only Linux has';
  try {
    mountDisk(newDataDir(), 1);
    execFileSync('umount', mounted.splice(0));
    return false;
  } catch {
    return 'this user may not mount a tmpfs: run as root, or in a container with CAP_SYS_ADMIN';
  }
}

/** Fills the disk. Returns a function that frees the space. */
function fill(folder: string): () => void {
  const path = join(folder, 'fill');
  const file = openSync(path, 'w');
  try {
    for (let bytes = FILL_BYTES; bytes >= 1; bytes = Math.floor(bytes / 2)) writeWhilePossible(file, bytes);
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

function writeWhilePossible(file: number, bytes: number): void {
  const chunk = Buffer.alloc(bytes);
  try {
    for (;;) writeSync(file, chunk);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  }
}

/** Returns the status of `/readyz` and the names of the failed checks. */
async function readiness({ url }: Service): Promise<{ status: number; failed: string[]; details: string }> {
  const answer = await fetch(`${url}/readyz`);
  const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; detail: string }[] };
  const failed = checks.filter((check) => !check.ok);
  return {
    status: answer.status,
    failed: failed.map(({ name }) => name),
    details: failed.map(({ detail }) => detail).join('\n'),
  };
}

/**
 * Sends requests with the key of a service. Returns the status and the body as JSON; asserts that a rejection is a
 * clear one.
 */
function client({ url, key }: Service) {
  const headers = { authorization: `Bearer ${key}` };
  // biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
  const read = async (status: number, text: string, retryAfter: string | null): Promise<{ ok: boolean; json: any }> => {
    if (status !== 200) {
      assert.equal(status, 503, text);
      assert.equal(JSON.parse(text).error.code, 'engine_unavailable');
      assert.ok(Number(retryAfter) > 0, 'Retry-After is set');
    }
    return { ok: status === 200, json: text === '' ? null : JSON.parse(text) };
  };
  const send = async (method: string, path: string, body?: object) => {
    const type = body && { 'content-type': 'application/json' };
    const answer = await fetch(url + path, {
      method,
      headers: { ...headers, ...type },
      ...(body && { body: JSON.stringify(body) }),
    });
    return read(answer.status, await answer.text(), answer.headers.get('retry-after'));
  };
  const upload = async (filename: string, content: string, purpose = 'knowledge-base') => {
    const parts = [
      { name: 'purpose', content: purpose },
      { name: 'file', filename, content },
    ];
    const answer = await sendForm(`${url}/v1/files`, encodeForm(parts), { key });
    return read(answer.status, answer.text, answer.headers.get('retry-after'));
  };
  const content = async (id: string) => (await fetch(`${url}/v1/files/${id}/content`, { headers })).text();
  const chat = () => send('POST', '/v1/chat/completions', CHAT);
  return { send, upload, content, chat };
}

/**
 * Repeats a call until the disk rejects it, and returns the acknowledged results: rows may fit into pages that exist.
 */
async function untilRejected<T>(call: (at: number) => Promise<{ ok: boolean; json: T }>): Promise<T[]> {
  const acknowledged: T[] = [];
  for (let at = 0; ; at += 1) {
    const { ok, json } = await call(at);
    if (!ok) return acknowledged;
    acknowledged.push(json);
  }
}

/** Waits until all ingestion jobs of a knowledge base have ended; asserts that they ingested their document. */
async function untilIngested(send: ReturnType<typeof client>['send'], baseId: string, jobs: number): Promise<void> {
  const list = async (): Promise<{ status: string; documents_processed: number }[]> =>
    (await send('GET', `/v1/knowledge-bases/${baseId}/ingestion-jobs?limit=100`)).json.data;
  await until(async () => (await list()).every(({ status }) => status === 'completed' || status === 'failed'));
  const ended = (await list()).map(({ status, documents_processed }) => [status, documents_processed]);
  assert.deepEqual(ended, Array(jobs).fill(['completed', 1]));
}

describe('a full disk', { skip: cannotMount() }, () => {
  it('stops a first start with a sentence, and the next one starts over', async () => {
    const dataDir = newDataDir();
    mountDisk(dataDir, 20);
    const first = await runQuire(['serve'], { dataDir, killAfterMs: 120_000 });
    assert.equal(first.code, 1);
    const sentences = first.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    assert.deepEqual(sentences.length, 1, first.stderr);
    assert.match(sentences[0] ?? '', /^A new database needs 135 MB, and the disk of .* has \d+ MB free\. Free some/);
    execFileSync('mount', ['-o', 'remount,size=400m', dataDir]);
    assert.equal((await readiness(await start({ dataDir }))).status, 200);
  });

  it('makes /readyz 503 with the failed stores, and the service recovers when space is freed', async () => {
    const dataDir = newDataDir();
    mountDisk(dataDir, 300);
    const service = await start({ dataDir });
    assert.deepEqual(await readiness(service), { status: 200, failed: [], details: '' });
    const free = fill(dataDir);
    await until(async () => (await readiness(service)).failed.length === STORES.length);
    const full = await readiness(service);
    assert.deepEqual({ status: full.status, failed: full.failed }, { status: 503, failed: STORES });
    assert.match(full.details, /the disk of .* has 0 MB free/);
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
    free();
    await until(async () => (await readiness(service)).status === 200);
    assert.equal((await client(service).chat()).ok, true);
    const freeAgain = fill(dataDir);
    await service.stop();
    freeAgain();
    assert.equal((await client(await start({ dataDir })).chat()).ok, true);
  });

  it('rejects what cannot be stored with 503, tells the operator what to do, and loses nothing that was acknowledged', async () => {
    const dataDir = newDataDir();
    mountDisk(dataDir, 300);
    const service = await start({ dataDir });
    const { send, upload, content, chat } = client(service);
    const document = `${AWKWARD_TEXTS.join(' ')} words of a document `.repeat(1000);
    const { json: file } = await upload('before.txt', document);
    const { json: base } = await send('POST', '/v1/knowledge-bases', { name: 'Full' });
    const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: CHAT });
    const { json: input } = await upload('lines.jsonl', line, 'batch');
    const batch = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
    const source = { type: 'file_upload', config: { file_ids: [file.id] } };
    assert.equal((await chat()).ok, true);
    const free = fill(dataDir);
    assert.equal((await upload('after.txt', document)).ok, false);
    // The pages of the first call have space for more.
    const chats = await untilRejected(chat);
    assert.ok(chats.length > 0);
    const responses = await untilRejected(() =>
      send('POST', '/v1/responses', { model: 'general-8b', input: 'Hello!' }),
    );
    const batches = await untilRejected(() => send('POST', '/v1/batches', batch));
    const sources = await untilRejected(() => send('POST', `/v1/knowledge-bases/${base.id}/data-sources`, source));
    assert.match(
      service.stderr(),
      new RegExp(`The folder of files ${dataDir}/blobs cannot be written: ENOSPC.*${FREE_SPACE}`),
    );
    assert.match(service.stderr(), new RegExp(`The database cannot write\\. ${FREE_SPACE}`));
    free();
    await until(async () => (await readiness(service)).status === 200);
    assert.equal(await content(file.id), document);
    const { json: files } = await send('GET', '/v1/files?limit=100');
    assert.ok(files.data.every(({ filename }: { filename: string }) => filename !== 'after.txt'));
    for (const { id } of responses) assert.equal((await send('GET', `/v1/responses/${id}`)).json.status, 'completed');
    for (const { id } of batches) {
      await until(async () => (await send('GET', `/v1/batches/${id}`)).json.status === 'completed');
    }
    const { json: usage } = await send('GET', '/v1/usage?bucket=hour');
    const metered = usage.data.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0);
    const calls = 1 + chats.length + responses.length + batches.length;
    assert.ok(metered >= calls, `${metered} metered of ${calls} acknowledged calls`);
    assert.equal((await send('POST', `/v1/knowledge-bases/${base.id}/data-sources`, source)).ok, true);
    await untilIngested(send, base.id, sources.length + 1);
  });

  it('is reported per store', async () => {
    const dataDir = newDataDir();
    await (await start({ dataDir })).stop();
    const database = join(newDataDir(), 'postgres');
    renameSync(join(dataDir, 'postgres'), database);
    for (const name of ['postgres', 'blobs', 'index']) mountDisk(join(dataDir, name), 130);
    cpSync(database, join(dataDir, 'postgres'), { recursive: true });
    const service = await start({ dataDir });
    assert.deepEqual((await readiness(service)).failed, []);
    for (const [at, name] of ['postgres', 'blobs', 'index'].entries()) {
      const free = fill(join(dataDir, name));
      await until(async () => (await readiness(service)).failed.length > 0);
      const { status, failed, details } = await readiness(service);
      assert.deepEqual({ status, failed }, { status: 503, failed: [STORES[at]] });
      assert.match(details, name === 'postgres' ? DATABASE_PROBE : new RegExp(`the disk of ${join(dataDir, name)}`));
      free();
      await until(async () => (await readiness(service)).status === 200);
    }
  });

  it('of the index suspends ingestion, which goes on afterwards', async () => {
    const dataDir = newDataDir();
    mountDisk(join(dataDir, 'index'), 130);
    const service = await start({ dataDir });
    const { send, upload } = client(service);
    const { json: file } = await upload('a.txt', 'some words');
    const { json: base } = await send('POST', '/v1/knowledge-bases', { name: 'Full index' });
    const free = fill(join(dataDir, 'index'));
    const source = { type: 'file_upload', config: { file_ids: [file.id] } };
    assert.equal((await send('POST', `/v1/knowledge-bases/${base.id}/data-sources`, source)).ok, true);
    await until(async () => service.stderr().includes('store unavailable, ingestion suspended'));
    assert.match(
      service.stderr(),
      new RegExp(`The search index in ${dataDir}/index cannot be written: .*${FREE_SPACE}`),
    );
    const search = { query: 'words', search_type: 'keyword' };
    const path = `/v1/knowledge-bases/${base.id}/retrieve`;
    assert.deepEqual(
      (await send('POST', path, search)).json.results,
      [],
      'an index that is not created yet is readable',
    );
    free();
    await untilIngested(send, base.id, 1);
    assert.equal((await send('POST', path, search)).json.results.length, 1);
    assert.doesNotMatch(service.stderr(), /will be rebuilt/);
  });

  it('makes the error of a file above 1 MiB that is extracted an outage of the store, not a fault of the document', async () => {
    const folder = newDataDir();
    mountDisk(folder, 1);
    const pieces = (async function* () {
      for (let at = 0; at < 3; at += 1) yield Buffer.alloc(1024 * 1024);
    })();
    const rejected = {
      message: /The temporary folder .* cannot be written: ENOSPC/,
      constructor: StoreNotWritableError,
    };
    await assert.rejects(spool(pieces, folder, new AbortController().signal), rejected);
    assert.deepEqual(readdirSync(folder), []);
  });
});
