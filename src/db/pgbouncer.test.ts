import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { createDatabase, type TestDatabase } from '../../test/database.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { createLogger } from '../lib/logger.ts';
import type { Database } from './db.ts';
import { openPostgres } from './postgres.ts';

/** Services that start at the same time. */
const CLIENTS = 8;
const logger = createLogger('silent');
const isInstalled = spawnSync('pgbouncer', ['--version']).status === 0;

describe('PostgreSQL behind PgBouncer', { skip: isInstalled ? false : 'PgBouncer is not installed' }, () => {
  let target: TestDatabase;
  before(async () => {
    target = await createDatabase();
  });
  after(() => target.drop());

  it('works with session pooling: statements, transactions, locks and notifications', async () => {
    const pooler = await startPgBouncer(target.url, 'session');
    const databases = await Promise.all([1, 2].map(() => openPostgres(pooler.url, logger)));
    const [first, second] = databases as [Database, Database];
    try {
      assert.deepEqual(await first.migrate(), []);
      const { rows } = await first.execute(
        "select current_setting('statement_timeout') as a, current_setting('idle_in_transaction_session_timeout') as b",
      );
      assert.deepEqual(rows, [{ a: '30s', b: '15s' }]);
      const prepared = first.prepare('probe', 'select $1::text as value');
      assert.deepEqual(await Promise.all([prepared('a'), prepared('b')]), [[{ value: 'a' }], [{ value: 'b' }]]);
      const received = Promise.withResolvers<string>();
      const connected = Promise.withResolvers<void>();
      second.listen('quire_jobs', { onNotification: received.resolve, onGap: () => connected.resolve() });
      await connected.promise;
      await first.execute("select pg_notify('quire_jobs', 'hello')");
      assert.equal(await withDeadline('the notification', received.promise), 'hello');
      const order: string[] = [];
      const held = Promise.withResolvers<void>();
      const holding = first.withLock('a', async () => {
        order.push('first');
        await held.promise;
        order.push('released');
      });
      await until(() => order.length === 1);
      const waiting = second.withLock('a', async () => void order.push('second'));
      held.resolve();
      await Promise.all([holding, waiting]);
      assert.deepEqual(order, ['first', 'released', 'second']);
    } finally {
      await Promise.all(databases.map((db) => db.close()));
      await pooler.stop();
    }
  });

  for (const mode of ['transaction', 'statement']) {
    for (const poolSize of [1, 3, 40]) {
      it(`refuses ${mode} pooling with ${poolSize} sessions, with ${CLIENTS} services at once and other clients`, async () => {
        const pooler = await startPgBouncer(target.url, mode, poolSize);
        const stopping = new AbortController();
        const busy = Promise.all(Array.from({ length: 4 }, () => load(pooler.url, stopping.signal)));
        try {
          const opened = await Promise.allSettled(
            Array.from({ length: CLIENTS }, () => openPostgres(pooler.url, logger)),
          );
          for (const each of opened) {
            if (each.status === 'fulfilled') await each.value.close();
            assert.equal(each.status, 'rejected');
            assert.match(
              String(each.reason),
              /^OperatorError: .*set pool_mode = session for this database in pgbouncer\.ini/,
            );
            assert.ok(!String(each.reason).includes('\n'));
          }
        } finally {
          stopping.abort();
          await busy.finally(() => pooler.stop());
        }
      });
    }
  }

  it('accepts a direct connection', async () => {
    const db = await openPostgres(target.url, logger);
    await db.close();
  });
});

/** Takes and returns sessions of the pooler. */
async function load(url: string, signal: AbortSignal): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  while (!signal.aborted) await client.query('select 1');
  await client.end();
}

/** Starts PgBouncer in front of a server on a UNIX socket. Resolves when it accepts connections. */
async function startPgBouncer(
  url: string,
  mode: string,
  poolSize = 40,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = new URL(url);
  const database = server.pathname.slice(1);
  const folder = mkdtempSync(join(tmpdir(), 'quire-pgbouncer-'));
  const port = await findFreePort();
  const bridge = await openBridge(`${server.searchParams.get('host')}/.s.PGSQL.${server.searchParams.get('port')}`);
  const user = decodeURIComponent(server.username);
  const { port: bridgePort } = bridge.address() as AddressInfo;
  writeFileSync(join(folder, 'users.txt'), `"${user}" ""\n`);
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
${database} = host=127.0.0.1 port=${bridgePort} user=${user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${folder}/users.txt
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 200
`,
  );
  const runAs = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  chmodSync(folder, 0o755);
  if (runAs.uid !== undefined) chownSync(folder, runAs.uid, runAs.uid);
  const child: ChildProcess = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], {
    ...runAs,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'exit');
  const pooled = `postgres://${user}@127.0.0.1:${port}/${database}`;
  await until(() => {
    if (child.exitCode !== null) throw new Error(output);
    return accepts(pooled);
  });
  return {
    url: pooled,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      bridge.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function accepts(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Forwards TCP connections to the socket of the server, which PgBouncer's user may not open. */
async function openBridge(path: string): Promise<Server> {
  const bridge = createServer((client: Socket) => {
    const server = connect(path);
    for (const socket of [client, server]) socket.on('error', () => [client, server].map((each) => each.destroy()));
    client.pipe(server).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(bridge, 'listening');
  return bridge;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
