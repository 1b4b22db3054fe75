import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createLogger } from '../../lib/logger.ts';
import { endOrphan, identifyServer, readPidFile, servesFolder } from './postmaster.ts';
import { SOCKET_NAME } from './socket-folder.ts';

describe('postmaster.pid', { skip: process.platform === 'win32' }, () => {
  let folder = '';
  const children: ChildProcess[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-pid-'));
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const writePidFile = (pid: number) =>
    writeFileSync(join(folder, 'postmaster.pid'), `${pid}\n/x\n1\n5432\n.\n\n1 2\nready   \n`);
  const context = () => ({ folder, socket: { path: folder, remove: () => {} }, logger: createLogger('silent') });
  const startIn = async (cwd: string, program = 'sleep') => {
    const child = spawn(program, ['60'], { cwd, stdio: 'ignore' });
    children.push(child);
    await new Promise((resolve) => child.once('spawn', resolve));
    return child;
  };

  it('is read where it names a process', async () => {
    assert.equal(await readPidFile(folder), null);
    writeFileSync(join(folder, 'postmaster.pid'), '');
    assert.equal(await readPidFile(folder), null);
    writePidFile(17);
    assert.deepEqual(await readPidFile(folder), { pid: 17, status: 'ready' });
  });

  it('is removed with the socket where another program has the process id, which is not signalled', async () => {
    const stranger = await startIn('/');
    writePidFile(stranger.pid as number);
    for (const name of [SOCKET_NAME, `${SOCKET_NAME}.lock`]) writeFileSync(join(folder, name), '');
    await endOrphan(context());
    for (const name of ['postmaster.pid', SOCKET_NAME, `${SOCKET_NAME}.lock`]) {
      assert.equal(existsSync(join(folder, name)), false, name);
    }
    assert.equal(stranger.exitCode ?? stranger.signalCode, null);
  });

  it('is left to PostgreSQL, which also checks shared memory, where no process has the id', async () => {
    const ended = await startIn('/');
    const exit = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill('SIGKILL');
    await exit;
    writePidFile(ended.pid as number);
    await endOrphan(context());
    assert.ok(existsSync(join(folder, 'postmaster.pid')));
  });

  it('names a server of the folder only if it is postgres with the folder as its working directory', {
    skip: process.platform !== 'linux',
  }, async () => {
    const postgres = join(folder, 'postgres');
    cpSync('/bin/sleep', postgres, { dereference: true });
    const inside = await startIn(folder, postgres);
    const outside = await startIn('/', postgres);
    const shell = await startIn(folder);
    assert.equal(servesFolder(inside.pid as number, folder), true);
    assert.equal(servesFolder(outside.pid as number, folder), false);
    assert.equal(servesFolder(shell.pid as number, folder), false);
    assert.equal(servesFolder(2 ** 22 + 1, folder), false);
  });

  it('is closed for a folder without a socket, and for one with a socket that nobody listens on', async () => {
    const { socket } = context();
    assert.equal(await identifyServer(folder, socket), 'closed');
    // Linux reports both errors in the same way: a plain file in place of the socket refuses connections.
    writeFileSync(join(folder, SOCKET_NAME), '');
    assert.equal(await identifyServer(folder, socket), 'closed');
  });
});
