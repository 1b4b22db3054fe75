import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OperatorError } from '../lib/operator-error.ts';
import { askService, listenForCommands, socketPath } from './command-socket.ts';

describe('the socket of a data folder', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-sock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const echo = async ({ command, input }: { command: string; input: unknown }) => ({ command, input });

  it('carries commands to the holder and results back, errors as their sentence', async () => {
    const held = await listenForCommands(folder, async (request) => {
      if (request.command === 'fail') throw new OperatorError('It cannot be done.');
      return echo(request);
    });
    const asked = { command: 'x', input: { text: 'ä\n"' } };
    assert.deepEqual(await askService(folder, asked), { result: asked });
    await assert.rejects(askService(folder, { command: 'fail', input: {} }), /^OperatorError: It cannot be done\.$/);
    await held.close();
  });

  it('is open to its owner only', async () => {
    const held = await listenForCommands(folder, echo);
    assert.equal(statSync(socketPath(folder)).mode & 0o777, 0o600);
    await held.close();
  });

  it('is not taken from a service that answers, such as one of a version without a lock file', async () => {
    const held = await listenForCommands(folder, echo);
    await assert.rejects(listenForCommands(folder, echo), /Another Quire is running/);
    assert.notEqual(await askService(folder, { command: 'x', input: 1 }), null);
    await held.close();
    await (await listenForCommands(folder, echo)).close();
  });

  it('replaces one that nobody answers at, such as a killed service leaves behind', async () => {
    writeFileSync(join(folder, 'quire.sock'), '');
    const held = await listenForCommands(folder, echo);
    assert.notEqual(await askService(folder, { command: 'x', input: 1 }), null);
    await held.close();
  });

  it('says that no service runs by null, not by an error', async () => {
    assert.equal(await askService(folder, { command: 'x', input: {} }), null);
    assert.equal(existsSync(join(folder, 'quire.sock')), false);
  });

  it('drops a connection that sends no end of line instead of keeping what it sends', async () => {
    const held = await listenForCommands(folder, echo);
    const closed = new Promise((resolve) => {
      const socket = connect(socketPath(folder), () => socket.write('x'.repeat(200_000)));
      socket.on('error', () => {});
      socket.on('close', resolve);
    });
    await closed;
    await held.close();
  });

  it('refuses a path that no kernel can bind, with what to do', () => {
    assert.throws(() => socketPath(`/${'x'.repeat(120)}`), /QUIRE_DATA_DIR to a shorter one/);
  });
});
