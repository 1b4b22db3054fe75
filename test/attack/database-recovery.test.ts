/** Crash recovery of PostgreSQL that takes a minute: services wait for it, at their start and while they run. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { launch, run } from '../../src/db/embedded/launch.ts';
import { findRuntime, programPath } from '../../src/db/embedded/runtime.ts';
import { chooseServer, readUserContext } from '../../src/db/embedded/server-user.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT, serverArguments } from '../../src/db/embedded/settings.ts';
import { createDatabase } from '../database.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { startStartingPostgres } from '../fixtures/starting-postgres.ts';
import { newDataDir, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { scaled } from './scale.ts';

useEmbeddedDatabases();

/** Duration of each recovery of a database by URL. */
const RECOVERY_MS = scaled(65_000, 3_000);
/** Write-ahead log that the embedded database replays. */
const WAL_MB = scaled(1_000, 50);

// A model server that answers keeps the log free of warnings.
const upstream = await startModelServer();
const env = { QUIRE_UPSTREAM_URL: upstream.baseUrl };
const started: Service[] = [];
after(async () => {
  await Promise.all(started.map((service) => service.kill()));
  await upstream.close();
});

const statusOf = async (service: Service, path: string): Promise<number> =>
  (await fetch(service.url + path, { headers: { authorization: `Bearer ${service.key}` } })).status;

async function createBase(service: Service, name: string): Promise<void> {
  const { status } = await fetch(`${service.url}/v1/knowledge-bases`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  assert.equal(status, 200);
}

describe('a database by URL that recovers from a crash', () => {
  it('is waited for at the start, and then: not ready, alive, ready again', { timeout: 280_000 }, async (t) => {
    const database = await createDatabase();
    const postgres = await startStartingPostgres(database.url, true);
    t.after(async () => {
      await postgres.close();
      await database.drop();
    });
    const starting = startService({ dataDir: newDataDir(), env: { ...env, QUIRE_DATABASE_URL: postgres.url } });
    await until(() => postgres.rejected() > 0);
    await delay(RECOVERY_MS);
    postgres.setRecovering(false);
    const service = await starting;
    started.push(service);
    assert.match(service.stderr(), /waiting for the database: .* does not accept connections yet/);
    await until(async () => (await statusOf(service, '/readyz')) === 200);
    await createBase(service, 'before');

    postgres.setRecovering(true);
    await until(async () => (await statusOf(service, '/readyz')) === 503);
    for (const endsAt = performance.now() + RECOVERY_MS; performance.now() < endsAt; await delay(500)) {
      assert.equal(await statusOf(service, '/readyz'), 503);
      assert.equal(await statusOf(service, '/healthz'), 200);
      assert.ok([200, 500, 503].includes(await statusOf(service, '/v1/knowledge-bases')));
    }
    postgres.setRecovering(false);
    await until(async () => (await statusOf(service, '/readyz')) === 200);
    await createBase(service, 'after');
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
  });
});

/** Runs PostgreSQL on the database of a stopped service without checkpoints, writes `WAL_MB` and kills it. */
async function leaveUnrecovered(folder: string): Promise<void> {
  const { user, runtime } = await chooseServer(readUserContext(), findRuntime(), {
    run: (each, command) => run(each, folder, command),
    copyRuntime: () => assert.fail(),
  });
  const settings = ['max_wal_size=20GB', 'checkpoint_timeout=1d', 'fsync=off', 'full_page_writes=off'];
  const child = launch(user, folder, [
    programPath(runtime, 'postgres'),
    ...serverArguments(user.dataPath(folder)),
    ...settings.flatMap((setting) => ['-c', setting]),
  ]);
  child.stderr?.resume();
  const exited = once(child, 'exit');
  const connect = async () => {
    const client = new Client({ host: folder, port: SOCKET_PORT, user: DATABASE_USER, database: DATABASE_NAME });
    await client.connect();
    return client;
  };
  let client: Client | null = null;
  await until(async () => {
    client = await connect().catch(() => null);
    return client !== null;
  });
  const writer = client as unknown as Client;
  writer.on('error', () => {});
  await writer.query('create table filler (number integer primary key, text text)');
  await writer.query("insert into filler select n, repeat('x', 900) from generate_series(1, $1) n", [WAL_MB * 1_000]);
  child.kill('SIGKILL');
  await exited;
}

describe('the embedded database that recovers from a crash', { skip: process.platform !== 'linux' }, () => {
  it('replays its log before the service is ready, which logs that and loses nothing', {
    timeout: 280_000,
  }, async (t) => {
    const dataDir = newDataDir();
    const first = await startService({ dataDir, env });
    started.push(first);
    await createBase(first, 'before');
    await first.stop();
    await leaveUnrecovered(join(dataDir, 'postgres'));
    const startedAt = performance.now();
    const service = await startService({ dataDir, env });
    started.push(service);
    t.diagnostic(`start with ${WAL_MB} MB to replay: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    assert.match(service.stderr(), /redo starts at/);
    const elapsed = /redo done at.* elapsed: ([\d.]+) s/.exec(service.stderr())?.[1];
    t.diagnostic(`replay: ${elapsed} s`);
    await until(async () => (await statusOf(service, '/readyz')) === 200);
    const listed = await fetch(`${service.url}/v1/knowledge-bases`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    assert.deepEqual(
      ((await listed.json()) as { data: { name: string }[] }).data.map(({ name }) => name),
      ['before'],
    );
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
  });
});
