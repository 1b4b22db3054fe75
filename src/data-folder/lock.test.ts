import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { createLogger } from '../lib/logger.ts';
import { FolderLock, LOCK_FILE } from './lock.ts';

const HOLDER = `
  const { FolderLock } = await import(process.argv[1]);
  const logger = { info() {} };
  const lock = await FolderLock.take(process.argv[2], { logger, onLost() {} });
  process.on('message', () => lock.release());
  process.send('held');
`;

/** Takes SQLite's shared lock for a moment: the first step of another process that is about to lock the folder. */
const HOLDER_OF_FIRST_STEP = `
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(process.argv[1]);
  database.exec('BEGIN; SELECT * FROM sqlite_master');
  process.send('held');
  setTimeout(() => process.exit(), 50);
`;

describe('FolderLock', () => {
  let folder = '';
  let lost = Promise.withResolvers<void>();
  let losses = 0;
  const onLost = () => {
    losses += 1;
    lost.resolve();
  };
  const take = (graceMs = 0) => FolderLock.take(folder, { logger: createLogger('silent'), onLost, graceMs });
  const lockFile = () => join(folder, LOCK_FILE);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-lock-'));
    losses = 0;
  });
  afterEach(() => {
    mock.timers.reset();
    rmSync(folder, { recursive: true, force: true });
  });

  it('rejects a second holder with a sentence, and leaves one private file when it is released', async () => {
    const lock = await take();
    await assert.rejects(take(), /^OperatorError: Another Quire is running on .*fuser .*quire\.lock/);
    lock.release();
    lock.release();
    (await take()).release();
    assert.deepEqual(readdirSync(folder), [LOCK_FILE]);
    assert.equal(statSync(lockFile()).mode & 0o077, 0);
  });

  it('waits for another process that has begun to lock the folder and gives way', async () => {
    (await take()).release();
    const child = fork('-e', [], { execArgv: ['--input-type=module', '-e', HOLDER_OF_FIRST_STEP, lockFile()] });
    const exit = once(child, 'exit');
    await once(child, 'message');
    (await take()).release();
    await exit;
  });

  it('holds against other processes, and ends with the process that is killed', async () => {
    const module = new URL('./lock.ts', import.meta.url).href;
    const child = fork('-e', [], { execArgv: ['--input-type=module', '-e', HOLDER, module, folder] });
    await once(child, 'message');
    await assert.rejects(take(), /Another Quire/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    (await take()).release();
  });

  it('tells once that its file was removed, or replaced by one that another process may lock', async () => {
    for (const attack of [() => rmSync(lockFile()), replaceLockFile, () => rmSync(folder, { recursive: true })]) {
      mock.timers.enable({ apis: ['setInterval'] });
      const lock = await take();
      mock.timers.tick(1_000);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(losses, 0);
      attack();
      mock.timers.tick(1_000);
      await lost.promise;
      mock.timers.tick(5_000);
      assert.equal(losses, 1);
      lock.release();
      mock.timers.reset();
      mkdirSync(folder, { recursive: true });
      losses = 0;
      lost = Promise.withResolvers();
    }
  });

  function replaceLockFile(): void {
    rmSync(lockFile());
    writeFileSync(lockFile(), '');
  }

  it('gives a service whose lock file was removed the time to notice, where there is data', async () => {
    mkdirSync(join(folder, 'db'));
    let isTaken = false;
    const taking = take(20).then((lock) => {
      isTaken = true;
      return lock;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(existsSync(lockFile()));
    assert.equal(isTaken, false);
    (await taking).release();
    // The file exists again, so the lock is not reported as lost.
    (await take()).release();
  });

  it('says what to do about a file that cannot be locked', async () => {
    writeFileSync(lockFile(), 'not empty, as its owner left it '.repeat(100));
    await assert.rejects(take(), /^OperatorError: .*quire\.lock cannot be locked: .*delete it while no Quire runs/);
    rmSync(lockFile());
    mkdirSync(lockFile());
    await assert.rejects(take(), /^OperatorError: .*quire\.lock cannot be locked/);
  });
});
