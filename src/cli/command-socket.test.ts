import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OperatorError } from '../lib/operator-error.ts';
import { findService, sendCommand, socketError, socketPath } from './command-client.ts';
import { listenForCommands } from './command-socket.ts';

describe('command socket of a data folder', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-sock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const echo = async ({ command, input }: { command: string; input: unknown }) => ({ command, input });

  it('returns results, and errors as their message', async () => {
    const held = await listenForCommands(folder, async (request) => {
      if (request.command === 'fail') throw new OperatorError('It cannot be done.');
      return echo(request);
    });
    const request = { command: 'x', input: { text: 'ä\n"' } };
    assert.deepEqual(await sendCommand(folder, request), { result: request });
    await assert.rejects(sendCommand(folder, { command: 'fail', input: {} }), /^OperatorError: It cannot be done\.$/);
    await held.close();
  });

  it('has mode 0600', async () => {
    const held = await listenForCommands(folder, echo);
    assert.equal(statSync(socketPath(folder)).mode & 0o777, 0o600);
    await held.close();
  });

  it('is not taken over from a live service', async () => {
    const held = await listenForCommands(folder, echo);
    await assert.rejects(listenForCommands(folder, echo), /Another Quire is running/);
    assert.notEqual(await sendCommand(folder, { command: 'x', input: 1 }), null);
    await held.close();
    await (await listenForCommands(folder, echo)).close();
  });

  it('replaces the stale socket of a killed service', async () => {
    writeFileSync(join(folder, 'quire.sock'), '');
    const held = await listenForCommands(folder, echo);
    assert.notEqual(await sendCommand(folder, { command: 'x', input: 1 }), null);
    await held.close();
  });

  it('sendCommand resolves with null when no service runs', async () => {
    assert.equal(await sendCommand(folder, { command: 'x', input: {} }), null);
    assert.equal(existsSync(join(folder, 'quire.sock')), false);
  });

  it('closes a connection that sends too many bytes without a newline', async () => {
    const held = await listenForCommands(folder, echo);
    const closed = new Promise((resolve) => {
      const socket = connect(socketPath(folder), () => socket.write('x'.repeat(200_000)));
      socket.on('error', () => {});
      socket.on('close', resolve);
    });
    await closed;
    await held.close();
  });

  it('findService resolves with null without a data folder, and creates none', async () => {
    const absent = join(folder, 'absent');
    assert.equal(await findService(absent), null);
    assert.equal(existsSync(absent), false);
  });

  it('names the next step when the data folder belongs to another user', () => {
    const denied = Object.assign(new Error('connect EACCES'), { code: 'EACCES' });
    assert.match(
      socketError('/srv/q', denied).message,
      /^Permission denied on the data folder \/srv\/q\. Run the command as/,
    );
  });

  it('rejects a path that is too long for a socket', () => {
    assert.throws(() => socketPath(`/${'x'.repeat(120)}`), /QUIRE_DATA_DIR to a shorter one/);
  });
});
