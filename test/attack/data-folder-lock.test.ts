import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { readPidFile } from '../../src/db/embedded/postmaster.ts';
import { chat, chatBody } from '../crash/load.ts';
import { createDatabase } from '../database.ts';
import {
  isRunning,
  newDataDir,
  runQuire,
  type Service,
  type ServiceOptions,
  startService,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { scaled } from './scale.ts';

useEmbeddedDatabases();

const IN_USE = /Another Quire is running on .*quire\.lock/;
/** Asserts that `quire serve` exits with the reason and without further writes after its lock file is removed. */
const LOST = /lock file removed or replaced while Quire was running/;

const started: Service[] = [];
afterEach(() => Promise.all(started.splice(0).map((service) => service.kill())));

/** Starts a service that is killed at the end of its test. */
async function start(options: ServiceOptions = {}): Promise<Service> {
  const service = await startService(options);
  started.push(service);
  return service;
}

const parentOf = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }));

async function assertServes(service: Service): Promise<void> {
  const answer = await fetch(`${service.url}/v1/models`, { headers: { authorization: `Bearer ${service.key}` } });
  assert.equal(answer.status, 200);
}

describe('the lock of a data folder', () => {
  it('holds after the socket is removed: no second service, no command that opens the database', async () => {
    const first = await start();
    const { dataDir } = first;
    rmSync(join(dataDir, 'quire.sock'));
    await assert.rejects(start({ dataDir }), IN_USE);
    const command = await runQuire(['keys', 'create', '--name', 'second'], { dataDir });
    assert.equal(command.code, 1);
    assert.match(command.stderr, IN_USE);
    await assertServes(first);
    assert.deepEqual(await first.stop(), { code: 0, signal: null });
  });

  it('stops a service whose lock file was removed before another one opens the folder', async () => {
    const first = await start();
    const { dataDir } = first;
    rmSync(join(dataDir, 'quire.sock'));
    rmSync(join(dataDir, 'quire.lock'));
    const second = await start({ dataDir });
    assert.equal(isRunning(first.pid), false);
    assert.deepEqual(await first.ended, { code: 1, signal: null });
    assert.match(first.stderr(), LOST);
    assert.equal(parentOf((await readPidFile(join(dataDir, 'postgres')))?.pid as number), second.pid);
    await assertServes(second);
  });

  it('is released immediately after SIGKILL, although child processes still run', async () => {
    const first = await start();
    // Starts the process of the bundled model.
    assert.equal((await chat(first, chatBody('general-8b', false, 8))).status, 200);
    const children = first.children();
    assert.ok(children.length > 0);
    for (const child of children) process.kill(child, 'SIGSTOP');
    try {
      await first.kill();
      await assertServes(await start({ dataDir: first.dataDir }));
      assert.ok(children.every(isRunning));
    } finally {
      for (const child of children) process.kill(child, 'SIGKILL');
    }
  });

  it('admits exactly one of two simultaneous starts', async () => {
    const { dataDir } = await start();
    await started.pop()?.kill();
    for (let round = 0; round < scaled(10, 1); round += 1) {
      const tries = await Promise.allSettled([start({ dataDir }), start({ dataDir })]);
      const failures = tries.flatMap((tried) => (tried.status === 'rejected' ? [String(tried.reason)] : []));
      assert.equal(failures.length, 1, `${failures}`);
      assert.match(failures[0] ?? '', IN_USE);
      await started.pop()?.kill();
    }
  });
});

describe('the lock of a data folder beside a shared PostgreSQL', () => {
  it('holds against a worker', async () => {
    const { url, drop } = await createDatabase();
    const env = { QUIRE_DATABASE_URL: url };
    const { dataDir } = await start({ env, dataDir: newDataDir() });
    const stores = { QUIRE_BLOBS_URL: 's3://bucket/blobs', QUIRE_INDEX_URL: 's3://bucket/index' };
    const worker = await runQuire(['worker'], { dataDir, env: { ...env, ...stores }, killAfterMs: 60_000 });
    assert.equal(worker.code, 1);
    assert.match(worker.stderr, IN_USE);
    await Promise.all(started.splice(0).map((service) => service.stop()));
    await drop();
  });
});
