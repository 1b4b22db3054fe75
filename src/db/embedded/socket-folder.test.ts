import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSocketFolder, SOCKET_NAME } from './socket-folder.ts';

const bytes = (folder: string) => Buffer.byteLength(join(folder, SOCKET_NAME));

describe('openSocketFolder', () => {
  it('is the database folder itself up to a socket path of 103 bytes', () => {
    const folder = '/'.padEnd(103 - SOCKET_NAME.length - 1, 'x');
    assert.equal(bytes(folder), 103);
    assert.equal(openSocketFolder(folder).path, folder);
  });

  it('is a link in a folder that only this user can enter where the path is longer, also for a deep temporary folder', () => {
    const root = mkdtempSync(join(tmpdir(), 'quire-deep-'));
    const folder = join(root, 'x'.repeat(60), 'é'.repeat(30));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'probe'), '');
    for (const temporary of [tmpdir(), folder]) {
      const socket = openSocketFolder(folder, temporary);
      assert.ok(bytes(socket.path) <= 103, socket.path);
      assert.ok(existsSync(join(socket.path, 'probe')));
      assert.equal(statSync(join(socket.path, '..', '..')).isDirectory(), true);
      const parent = socket.path.slice(0, -'/db'.length);
      assert.equal(statSync(parent).mode & 0o777, 0o700);
      socket.remove();
      socket.remove();
      assert.equal(existsSync(parent), false);
      assert.ok(existsSync(join(folder, 'probe')));
    }
    rmSync(root, { recursive: true });
  });
});
