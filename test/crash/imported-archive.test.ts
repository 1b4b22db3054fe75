import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sendArchive } from '../archives.ts';
import { encodeForm, sendForm } from '../forms.ts';
import { newDataDir, runQuire, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

/** Documents of the archive, and the size of its largest files. */
const LINES = 1500;
const LARGE_BYTES = 60_000_000;
const LARGE_FILES = 3;
/** Maximum memory that an import adds to the service; the archive has `LARGE_FILES` x `LARGE_BYTES`. */
const MAX_ADDED_BYTES = 120_000_000;
/** Maximum time of an import before the kill; each round draws a random time. */
const LOAD_MS = 6_000;
const SAMPLE_MS = 20;

// biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
type Json = any;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(service: Service, method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}

async function upload(service: Service, filename: string, content: Buffer): Promise<string> {
  const parts = [
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename, content },
  ];
  const answer = await sendForm(`${service.url}/v1/files`, encodeForm(parts), { key: service.key });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.id;
}

/** Creates a knowledge base of files; resolves when its job has ended. */
async function makeBase(service: Service, name: string, files: [name: string, content: Buffer][]): Promise<string> {
  const { id } = await call(service, 'POST', '/v1/knowledge-bases', { name });
  const file_ids: string[] = [];
  for (const [filename, content] of files) file_ids.push(await upload(service, filename, content));
  const path = `/v1/knowledge-bases/${id}/data-sources`;
  await call(service, 'POST', path, { type: 'file_upload', config: { file_ids } });
  await untilImported(service, id);
  return id;
}

async function untilImported(service: Service, id: string): Promise<void> {
  await until(async () => {
    const { data } = await call(service, 'GET', `/v1/knowledge-bases/${id}/ingestion-jobs`);
    assert.notEqual(data[0]?.status, 'failed', JSON.stringify(data));
    return data.length > 0 && data.every(({ status }: Json) => status === 'completed');
  });
}

const kb = (service: Service, ...args: string[]) =>
  runQuire(['kb', ...args], {
    dataDir: service.dataDir,
    env: { QUIRE_URL: service.url, QUIRE_API_KEY: service.key },
  });

const listBases = async (service: Service): Promise<Json[]> =>
  (await call(service, 'GET', '/v1/knowledge-bases?limit=100')).data;

/** The form of an import, during which the service is killed. */
async function* cutShort(service: Service, archive: Buffer): AsyncGenerator<Uint8Array> {
  const form = encodeForm([{ name: 'file', filename: 'base.tar', content: archive }]);
  const cut = Math.floor(Math.random() * form.length);
  yield form.subarray(0, cut);
  await until(() => countBlobs(service.dataDir) > 0);
  await service.kill();
  yield form.subarray(cut);
}

/** Blobs that are being written. */
const countBlobs = (dataDir: string) => readdirSync(join(dataDir, 'blobs/unfinished')).length;

/** Files of the service by purpose. */
const countFiles = async (service: Service, purpose: string): Promise<number> =>
  (await call(service, 'GET', `/v1/files?limit=100&purpose=${purpose}`)).data.length;

/** Anonymous memory of a process in bytes. */
function readMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe('archives of knowledge bases, by the command line', () => {
  const folder = newDataDir();
  const dataDir = newDataDir();
  const archive = join(folder, 'lines.tar');
  const env = { QUIRE_UPSTREAM_URL: 'http://127.0.0.1:9' };
  let service: Service;
  before(async () => {
    service = await startService({ dataDir, env });
    const lines = Array.from({ length: LINES }, (_, at) => JSON.stringify({ text: `Line ${at} is about word${at}y.` }));
    const small = Array.from({ length: 5 }, (_, at): [string, Buffer] => [`${at}.txt`, Buffer.from(`Note ${at}`)]);
    await makeBase(service, 'Lines', [['lines.jsonl', Buffer.from(lines.join('\n'))], ...small]);
  }, NO_TIME_LIMIT);
  after(() => service.kill());

  it(
    'kb export and kb import make an equal knowledge base, and errors leave no file and no base',
    NO_TIME_LIMIT,
    async () => {
      const exported = await kb(service, 'export', 'Lines', archive, '--json');
      assert.equal(exported.code, 0, exported.stderr);
      assert.equal(JSON.parse(exported.stdout).bytes, statSync(archive).size);
      const imported = await kb(service, 'import', archive, '--name', 'Copy "of" lines', '--json');
      assert.equal(imported.code, 0, imported.stderr);
      const { knowledge_base: copy } = JSON.parse(imported.stdout);
      assert.deepEqual([copy.name, copy.document_count], ['Copy "of" lines', LINES + 5]);
      assert.deepEqual(readdirSync(folder), ['lines.tar']);

      const before = (await listBases(service)).length;
      const broken = join(folder, 'broken.tar');
      assert.equal((await kb(service, 'export', 'Lines', broken)).code, 0);
      truncateSync(broken, statSync(broken).size - 5000);
      for (const [args, message] of [
        [['import', broken], /ends early: it is truncated/],
        [['import', join(folder, 'none.tar')], /none\.tar cannot be read/],
        [['import', archive, '--embedding-model', 'none'], /none/],
        [['export', 'Nothing', join(folder, 'out.tar')], /Nothing/],
        [['export', 'Lines', join(folder, 'no/folder.tar')], /cannot be written/],
      ] as const) {
        const failed = await kb(service, ...args);
        assert.equal(failed.code, 1, failed.stdout);
        assert.match(failed.stderr, message);
      }
      assert.equal((await listBases(service)).length, before);
      assert.deepEqual(readdirSync(folder).sort(), ['broken.tar', 'lines.tar']);
      await until(async () => (await countFiles(service, 'archive')) === 0);
    },
  );

  it('an import is whole or absent after SIGKILL, and a repeated one works', NO_TIME_LIMIT, async (t) => {
    const bytes = readFileSync(archive);
    const outcomes: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const files = await countFiles(service, 'knowledge-base');
      const name = `Round ${round}`;
      const isDuringUpload = round % 3 === 1;
      const importing = isDuringUpload
        ? sendForm(`${service.url}/v1/knowledge-bases/import`, cutShort(service, bytes), { key: service.key })
        : sendArchive(service, bytes, { name });
      importing.catch(() => {});
      if (isDuringUpload) await service.ended;
      else await pause(Math.random() * LOAD_MS);
      await service.kill();
      const isAcknowledged = (await importing.catch(() => null))?.status === 200;
      service = await startService({ dataDir, env });
      const bases = (await listBases(service)).filter((base) => base.name === name);
      assert.ok(bases.length === 1 || (bases.length === 0 && !isAcknowledged), `${bases.length}, ${isAcknowledged}`);
      if (bases.length === 0) {
        // Nothing is left of the upload.
        assert.equal(await countFiles(service, 'knowledge-base'), files);
        assert.equal(await countFiles(service, 'archive'), 0);
        assert.equal((await sendArchive(service, bytes, { name })).status, 200);
      }
      const [base] = (await listBases(service)).filter((each) => each.name === name);
      await untilImported(service, base.id);
      const whole = await call(service, 'GET', `/v1/knowledge-bases/${base.id}`);
      assert.deepEqual([whole.document_count, whole.chunk_count], [LINES + 5, LINES + 5]);
      const query = { query: `word${LINES - 1}y`, search_type: 'keyword' };
      const { results } = await call(service, 'POST', `/v1/knowledge-bases/${base.id}/retrieve`, query);
      assert.equal(results.length, 1);
      assert.equal(await countFiles(service, 'knowledge-base'), files + 6);
      await until(async () => (await countFiles(service, 'archive')) === 0);
      outcomes.push(
        `${isAcknowledged ? 'acknowledged' : 'not acknowledged'}, ${bases.length === 1 ? 'there' : 'absent'}`,
      );
    }
    t.diagnostic(outcomes.join('; '));
  });

  it('a large archive is exported and imported in bounded memory', {
    ...NO_TIME_LIMIT,
    skip: process.platform !== 'linux' && 'memory is read from /proc',
  }, async (t) => {
    const large = Array.from({ length: LARGE_FILES }, (_, at): [string, Buffer] => [
      `${at}.txt`,
      Buffer.concat([Buffer.from(`Large ${at}\n`), Buffer.alloc(LARGE_BYTES, '\n')]),
    ]);
    await makeBase(service, 'Large', large);
    // From the memory of a start: what the ingestion has allocated would hide what an import adds.
    await service.stop();
    service = await startService({ dataDir, env });
    const path = join(folder, 'large.tar');
    // Of both commands: what the export allocates and the import uses again counts for both.
    let lowest = readMemory(service.pid);
    const addedBy = async (...args: string[]) => {
      let added = 0;
      const watch = setInterval(() => {
        const memory = readMemory(service.pid);
        lowest = Math.min(lowest, memory);
        added = Math.max(added, memory - lowest);
      }, SAMPLE_MS);
      const { code, stderr } = await kb(service, ...args);
      clearInterval(watch);
      assert.equal(code, 0, stderr);
      return added;
    };
    const added = { export: await addedBy('export', 'Large', path), import: await addedBy('import', path) };
    const inMegabytes = Object.entries(added).map(([name, bytes]) => `${name} ${Math.round(bytes / 1e6)} MB`);
    t.diagnostic(`archive ${Math.round(statSync(path).size / 1e6)} MB, added to memory: ${inMegabytes.join(', ')}`);
    for (const bytes of Object.values(added)) assert.ok(bytes < MAX_ADDED_BYTES, inMegabytes.join());
  });
});
