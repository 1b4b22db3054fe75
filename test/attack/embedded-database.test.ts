/**
 * The embedded PostgreSQL against kills, orphans, recycled process ids, and the users and folders that it may be
 * started with.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch, run } from '../../src/db/embedded/launch.ts';
import { openEmbedded } from '../../src/db/embedded/open-embedded.ts';
import { readPidFile, servesFolder } from '../../src/db/embedded/postmaster.ts';
import { findRuntime, programPath } from '../../src/db/embedded/runtime.ts';
import { chooseServer, readUserContext } from '../../src/db/embedded/server-user.ts';
import { serverArguments } from '../../src/db/embedded/settings.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { killProcesses, until } from '../spawned-service.ts';
import { IS_SHORT, scaled } from './scale.ts';

const WRITER = fileURLToPath(new URL('../fixtures/embedded-writer.ts', import.meta.url));
const IS_ROOT = process.geteuid?.() === 0;
const IS_LINUX = process.platform === 'linux';
/** Debian's `nobody`, and a uid without an account on any machine. */
const NOBODY = 65_534;
const UNKNOWN_USER = 1_000_650_000;

/** A process with an embedded database. */
interface Writer {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  exited: Promise<number | null>;
}

process.umask(0o077);
const roots: string[] = [];
const writers: Writer[] = [];
const orphans: ChildProcess[] = [];
let template = '';

function newRoot(parent: string = tmpdir()): string {
  const root = mkdtempSync(join(parent, 'quire-embedded-'));
  roots.push(root);
  return root;
}

/** A folder with a cluster that was stopped. */
function newCluster(): string {
  const folder = join(newRoot(), 'postgres');
  cpSync(template, folder, { recursive: true });
  return folder;
}

function start(folder: string, mode = '', prefix: readonly string[] = []): Writer {
  const [program = '', ...args] = [...prefix, process.execPath, WRITER, folder, mode];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const writer = { child, stdout: () => written.stdout, stderr: () => written.stderr, exited };
  writers.push(writer);
  return writer;
}

async function ready(writer: Writer): Promise<Writer> {
  const isReady = () => writer.stdout().startsWith('ready');
  await until(() => isReady() || writer.child.exitCode !== null);
  assert.ok(isReady(), writer.stderr());
  return writer;
}

async function stop(writer: Writer): Promise<void> {
  writer.child.kill('SIGTERM');
  assert.equal(await writer.exited, 0, writer.stderr());
  assert.match(writer.stdout(), /^closed/m);
}

/** Starts a writer, waits until it is ready and stops it. */
const startAndStop = async (folder: string, prefix: readonly string[] = []): Promise<Writer> => {
  const writer = await ready(start(folder, '', prefix));
  await stop(writer);
  return writer;
};

/** Every process of the server on a folder, the postmaster first. */
function serverProcesses(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && servesFolder(pid, folder));
}

const acknowledged = (writer: Writer): number[] =>
  [...writer.stdout().matchAll(/^ack (\d+)$/gm)].map(([, n]) => Number(n));

function canTrace(): boolean {
  try {
    execFileSync('strace', ['-qq', '-o', '/dev/null', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Opens the database in this process for a moment. */
async function storedNumbers(folder: string): Promise<Set<number>> {
  const db = await openEmbedded({ folder, logger: createLogger('silent'), onGiveUp: assert.fail });
  try {
    const { rows } = await db.execute('select number from acknowledged');
    return new Set((rows as { number: number }[]).map(({ number }) => number));
  } finally {
    await db.close();
  }
}

/** Starts an unsupervised server, as a killed service leaves it on a machine without `setpriv`. */
async function startOrphan(folder: string): Promise<ChildProcess> {
  const { user, runtime } = await chooseServer(readUserContext(), findRuntime(), {
    run: (each, command) => run(each, tmpdir(), command),
    copyRuntime: () => assert.fail(),
  });
  const prefix = user.prefix.filter((word) => !['setpriv', '--pdeathsig', 'SIGINT'].includes(word));
  const child = launch(
    { ...user, prefix: prefix.filter((word, at) => word !== '--' || at < prefix.length - 1) },
    folder,
    [programPath(runtime, 'postgres'), ...serverArguments(user.dataPath(folder))],
  );
  child.stderr?.resume();
  orphans.push(child);
  await until(async () => (await readPidFile(folder))?.status === 'ready');
  return child;
}

before(async () => {
  template = join(newRoot(), 'postgres');
  await startAndStop(template);
});
afterEach(() => {
  for (const { child } of writers.splice(0)) child.kill('SIGKILL');
  for (const child of orphans.splice(0)) child.kill('SIGKILL');
});
after(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

describe('a cluster', () => {
  it('is accessible to its owner alone, and listens on nothing but its socket', async () => {
    const folder = newCluster();
    const writer = await ready(start(folder));
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const { mode } = lstatSync(join(entry.parentPath, entry.name));
      assert.equal(mode & 0o077, 0, entry.name);
    }
    if (IS_LINUX) {
      const [postmaster = 0] = serverProcesses(folder);
      const listening = execFileSync('sh', ['-c', `ls -l /proc/${postmaster}/fd`], { encoding: 'utf8' });
      const inodes = [...listening.matchAll(/socket:\[(\d+)\]/g)].map(([, inode]) => inode ?? '');
      const tcp = readFileSync('/proc/net/tcp', 'utf8') + readFileSync('/proc/net/tcp6', 'utf8');
      assert.ok(inodes.length > 0);
      for (const inode of inodes) assert.ok(!tcp.includes(` ${inode} `), listening);
      assert.match(readFileSync(`/proc/${postmaster}/status`, 'utf8'), /^CapEff:\s0+$/m);
      const environment = readFileSync(`/proc/${postmaster}/environ`, 'utf8');
      assert.doesNotMatch(environment, /QUIRE|KEY|HOME/);
    }
    await stop(writer);
    assert.equal(existsSync(join(folder, 'postmaster.pid')), false);
  });

  it('starts below a path with spaces and one that is too long for a socket', async () => {
    const folder = join(newRoot(), `a folder with spaces and ${'é'.repeat(60)}`, 'postgres');
    await startAndStop(folder);
    await startAndStop(folder);
  });

  it('of an interrupted initdb is created again, and one that is damaged is left alone', async () => {
    const folder = join(newRoot(), 'postgres');
    mkdirSync(`${folder}.new`);
    cpSync(join(template, 'base'), join(`${folder}.new`, 'base'), { recursive: true });
    await startAndStop(folder);
    // As `cp -r` restores a backup.
    chmodSync(folder, 0o755);
    await startAndStop(folder);
    assert.equal(lstatSync(folder).mode & 0o777, 0o700);
    rmSync(join(folder, 'global/pg_control'));
    const damaged = start(folder);
    assert.notEqual(await damaged.exited, 0);
    assert.match(damaged.stderr(), /is damaged: global\/pg_control is missing/);
    assert.ok(existsSync(join(folder, 'base')));
  });
});

describe('SIGKILL', { skip: !IS_LINUX }, () => {
  it('of the service ends the server, too, with a clean shutdown', async () => {
    const folder = newCluster();
    const writer = await ready(start(folder));
    writer.child.kill('SIGKILL');
    await writer.exited;
    await until(() => serverProcesses(folder).length === 0);
    const next = await startAndStop(folder);
    assert.doesNotMatch(next.stderr(), /not properly shut down|redo starts/);
  });

  it('of service and server together loses nothing that was acknowledged', { timeout: 1_800_000 }, async () => {
    const folder = newCluster();
    const all: number[] = [];
    for (let round = 0; round < scaled(50, 5); round += 1) {
      const writer = await ready(start(folder, 'write'));
      await until(() => acknowledged(writer).length > 10);
      await delay(Math.random() * 200);
      const pids = serverProcesses(folder);
      assert.ok(pids.length >= 5, String(pids));
      killProcesses([writer.child.pid as number, ...pids]);
      await writer.exited;
      all.push(...acknowledged(writer));
    }
    const stored = await storedNumbers(folder);
    assert.deepEqual(
      all.filter((number) => !stored.has(number)),
      [],
    );
  });

  it('of the server fails statements cleanly, and the service recovers by itself', async () => {
    const folder = newCluster();
    const writer = await ready(start(folder, 'write'));
    for (let round = 0; round < scaled(10, 3); round += 1) {
      const before = acknowledged(writer).length;
      await until(() => acknowledged(writer).length > before + 10);
      const { pid } = (await readPidFile(folder)) as { pid: number };
      process.kill(pid, 'SIGKILL');
      await until(async () => (await readPidFile(folder))?.pid !== pid);
      const after = acknowledged(writer).length;
      await until(() => acknowledged(writer).length > after + 10);
    }
    await stop(writer);
    assert.match(writer.stdout(), /^failed /m);
    assert.match(writer.stderr(), /embedded database accepts connections again/);
    const stored = await storedNumbers(folder);
    assert.deepEqual(
      acknowledged(writer).filter((number) => !stored.has(number)),
      [],
    );
  });

  it('of a backend makes the server start its processes again, under the same service', async () => {
    const folder = newCluster();
    const writer = await ready(start(folder, 'write'));
    await until(() => acknowledged(writer).length > 10);
    const { pid: postmaster } = (await readPidFile(folder)) as { pid: number };
    killProcesses(serverProcesses(folder).filter((pid) => pid !== postmaster));
    const count = acknowledged(writer).length;
    await until(() => acknowledged(writer).length > count + 20);
    assert.equal((await readPidFile(folder))?.pid, postmaster);
    await stop(writer);
  });

  it('gives up with the reason when the server does not stay up', { skip: IS_SHORT && '30 s of backoff' }, async () => {
    const folder = newCluster();
    const writer = await ready(start(folder));
    const control = readFileSync(join(folder, 'global/pg_control'));
    control.fill(0xff, 100, 200);
    writeFileSync(join(folder, 'global/pg_control'), control);
    process.kill(((await readPidFile(folder)) as { pid: number }).pid, 'SIGKILL');
    assert.equal(await writer.exited, 9);
    assert.match(writer.stderr(), /gave up: .*checksum/);
  });
});

describe('an acknowledged row', { skip: IS_LINUX && canTrace() ? false : 'needs strace' }, () => {
  it('was flushed to disk before it was acknowledged', async () => {
    const folder = newCluster();
    const trace = join(newRoot(), 'trace');
    const writer = await ready(start(folder, 'write'));
    const { pid } = (await readPidFile(folder)) as { pid: number };
    const pids = serverProcesses(folder).flatMap((each) => ['-p', String(each)]);
    const tracer = spawn('strace', ['-f', '-qq', '-e', 'trace=fdatasync,sendto', '-o', trace, ...pids], {
      stdio: 'ignore',
    });
    await until(() => existsSync(trace) && readFileSync(trace, 'utf8').includes('sendto'));
    const count = acknowledged(writer).length;
    await until(() => acknowledged(writer).length > count + 50);
    const ended = new Promise((resolve) => tracer.once('exit', resolve));
    tracer.kill('SIGINT');
    await ended;
    assert.equal((await readPidFile(folder))?.pid, pid);
    await stop(writer);
    // One connection writes, so a reply `INSERT 0 1` without a flush since the last one was not durable.
    let flushes = 0;
    let replies = 0;
    for (const line of readFileSync(trace, 'utf8').split('\n')) {
      if (/fdatasync.*= 0$/.test(line)) flushes += 1;
      if (!line.includes('INSERT 0 1')) continue;
      if (replies > 0) assert.ok(flushes > 0, line);
      flushes = 0;
      replies += 1;
    }
    assert.ok(replies > 50, String(replies));
  });
});

describe('an orphaned server', { skip: !IS_LINUX }, () => {
  it('is stopped by the next start, with its connections', async () => {
    const folder = newCluster();
    const orphan = await startOrphan(folder);
    const ended = new Promise((resolve) => orphan.once('exit', resolve));
    const writer = await startAndStop(folder);
    await ended;
    assert.match(writer.stderr(), /stopping the database server of an earlier process/);
    assert.doesNotMatch(writer.stderr(), /not properly shut down/);
  });

  it('that does not answer is waited for, with a line in the log, and never joined by a second one', async () => {
    const folder = newCluster();
    const orphan = await startOrphan(folder);
    orphan.kill('SIGSTOP');
    const writer = start(folder);
    await until(() => writer.stderr().includes('stopping the database server'));
    await delay(scaled(3_000, 1_000));
    assert.equal(writer.stdout(), '');
    assert.deepEqual(
      serverProcesses(folder).filter((pid) => pid === orphan.pid),
      [orphan.pid],
    );
    orphan.kill('SIGCONT');
    await ready(writer);
    await stop(writer);
  });

  it('without its pid file is protected by shared memory: no second server writes to the folder', async () => {
    const folder = newCluster();
    const orphan = await startOrphan(folder);
    rmSync(join(folder, 'postmaster.pid'));
    const writer = start(folder);
    await until(() => /pre-existing shared memory block|lock file .* already exists/.test(writer.stderr()));
    assert.equal(writer.stdout(), '');
    const ended = new Promise((resolve) => orphan.once('exit', resolve));
    orphan.kill('SIGINT');
    await ended;
    await ready(writer);
    await stop(writer);
  });

  it('that has ended is recognized although another process has its id', async () => {
    const folder = newCluster();
    const orphan = await startOrphan(folder);
    const ended = new Promise((resolve) => orphan.once('exit', resolve));
    orphan.kill('SIGKILL');
    await ended;
    await until(() => serverProcesses(folder).length === 0);
    for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
      const lines = readFileSync(join(folder, name), 'utf8').split('\n');
      writeFileSync(join(folder, name), [String(process.pid), ...lines.slice(1)].join('\n'));
    }
    const writer = await startAndStop(folder);
    assert.match(writer.stderr(), /removed the pid file of a database server that has ended/);
    assert.match(writer.stderr(), /not properly shut down; automatic recovery in progress/);
  });
});

describe('the user of the server', { skip: !IS_LINUX || !IS_ROOT ? 'needs root on Linux' : false }, () => {
  const asUser = (uid: number) => ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
  const owners = (folder: string) =>
    new Set(
      readdirSync(folder, { recursive: true, withFileTypes: true }).map(
        (entry) => lstatSync(join(entry.parentPath, entry.name)).uid,
      ),
    );
  const rootOwnedBy = (uid: number) => {
    const root = newRoot();
    chownSync(root, uid, uid);
    return root;
  };

  it('is root without privileges, in a private folder of /tmp and below /root', async () => {
    for (const parent of [tmpdir(), homedir()]) {
      const root = newRoot(parent);
      chmodSync(root, 0o700);
      const folder = join(root, 'postgres');
      const writer = await startAndStop(folder);
      assert.match(writer.stderr(), /"user":"user namespace"/);
      assert.deepEqual(owners(folder), new Set([0]));
    }
  });

  it('is an ordinary user', async () => {
    const folder = join(rootOwnedBy(NOBODY), 'postgres');
    const writer = await startAndStop(folder, asUser(NOBODY));
    assert.match(writer.stderr(), /"user":"same user"/);
    assert.deepEqual(owners(folder), new Set([NOBODY]));
  });

  it('is a user without an account', async () => {
    const folder = join(rootOwnedBy(UNKNOWN_USER), 'postgres');
    const writer = await startAndStop(folder, asUser(UNKNOWN_USER));
    assert.match(writer.stderr(), /"user":"user namespace"/);
    assert.deepEqual(owners(folder), new Set([UNKNOWN_USER]));
  });

  it('is nobody where user namespaces are not allowed, and root again on the same folder where they are', async () => {
    const root = newRoot();
    chmodSync(root, 0o700);
    const folder = join(root, 'postgres');
    const namespace = withoutUserNamespaces();
    if (namespace === null)
      return assert.fail('this machine cannot restrict user namespaces in a namespace of its own');
    try {
      const writer = await startAndStop(folder, namespace.prefix);
      assert.match(writer.stderr(), /"user":"unprivileged user"/);
      assert.deepEqual(owners(folder), new Set([NOBODY]));
    } finally {
      namespace.remove();
    }
    const writer = await startAndStop(folder);
    assert.match(writer.stderr(), /"user":"user namespace"/);
    assert.deepEqual(owners(folder), new Set([0]));
  });

  it('cannot use the folder of another user, and says so', async () => {
    const root = rootOwnedBy(NOBODY);
    const folder = join(root, 'postgres');
    cpSync(template, folder, { recursive: true });
    chmodSync(folder, 0o755);
    for (const name of ['PG_VERSION', 'postgresql.conf', 'pg_hba.conf']) chmodSync(join(folder, name), 0o644);
    for (const name of ['global', 'base']) chmodSync(join(folder, name), 0o755);
    const writer = start(folder, '', asUser(NOBODY));
    assert.notEqual(await writer.exited, 0);
    assert.match(writer.stderr(), /belongs to another user.*chown -R/);
  });
});

/**
 * A user namespace with all users of this machine, in which no further one can be created; the limit of the machine
 * stays.
 */
function withoutUserNamespaces(): { prefix: string[]; remove(): void } | null {
  const holder = spawn('unshare', ['--user', 'sleep', '120'], { stdio: 'ignore' });
  const enter = ['nsenter', '-t', String(holder.pid), '--user', '--setuid', '0', '--setgid', '0', '--'];
  try {
    execFileSync('sleep', ['0.3']);
    for (const name of ['uid_map', 'gid_map']) writeFileSync(`/proc/${holder.pid}/${name}`, '0 0 4294967295');
    const [program = '', ...args] = enter;
    execFileSync(program, [...args, 'sh', '-c', 'echo 0 > /proc/sys/user/max_user_namespaces']);
    return { prefix: enter, remove: () => void holder.kill('SIGKILL') };
  } catch {
    holder.kill('SIGKILL');
    return null;
  }
}
