import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { createLogger } from '../lib/logger.ts';
import { type BackupDeps, Backups } from './backups.ts';
import { openFolderTarget } from './folder-target.ts';
import { BackupRepository } from './repository.ts';

const never = new AbortController().signal;

describe('the target of backups', () => {
  it('is claimed once by tasks that find it at the same time, so that all objects have one key', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-claim-'));
    const target = join(folder, 'target');
    writeFileSync(target, 'no folder');
    const backups = await Backups.open({
      db: { execute: async () => ({ rows: [{ value: '1' }] }) },
      logger: createLogger('silent'),
      now: Date.now,
      config: { dataDir: folder, backupUrl: target, backupSchedule: null, backupPassphrase: 'secret' },
    } as unknown as BackupDeps);
    assert.ok(backups !== null);
    await assert.rejects(backups.openRepository(never), /ENOTDIR/);
    rmSync(target);
    const stopped = new AbortController();
    stopped.abort(new Error('stopped'));
    await assert.rejects(backups.openRepository(stopped.signal), /stopped/);
    const repositories = await Promise.all([backups.openRepository(never), backups.openRepository(never)]);
    for (const [at, repository] of repositories.entries())
      await repository.put(`base/${at}`, Readable.from([Buffer.from(`content ${at}`)]), never);
    const later = await BackupRepository.open(openFolderTarget(target), 'secret', never);
    assert.deepEqual(await Promise.all([0, 1].map((at) => later.readText(`base/${at}`, never))), [
      'content 0',
      'content 1',
    ]);
    rmSync(folder, { recursive: true });
  });
});
