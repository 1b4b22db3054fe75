import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import {
  newDataDir,
  runQuire,
  type Service,
  type ServiceOptions,
  startService,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';

useEmbeddedDatabases();

const FILL_BYTES = 1024 * 1024;
const STORES = ['database', 'files', 'index'];

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

async function chat({ url, key }: Service): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'general-8b', messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  await answer.body?.cancel();
  return answer.status;
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
    assert.equal(await chat(service), 500, 'an answer whose usage is not durable is none');
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
    free();
    await until(async () => (await readiness(service)).status === 200);
    assert.equal(await chat(service), 200);
    const freeAgain = fill(dataDir);
    await service.stop();
    freeAgain();
    assert.equal(await chat(await start({ dataDir })), 200);
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
      assert.match(details, new RegExp(`the disk of ${join(dataDir, name)}`));
      free();
      await until(async () => (await readiness(service)).status === 200);
    }
  });
});
