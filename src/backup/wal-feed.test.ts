import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../test/deadline.ts';
import { DamagedObjectError } from './codec.ts';
import type { BackupRepository } from './repository.ts';
import { WalFeed } from './wal-feed.ts';

describe('the feed of archived WAL', () => {
  it('fails for a damaged segment that the server requests, not for one that was fetched ahead', async (context) => {
    const cluster = mkdtempSync(join(tmpdir(), 'quire-feed-'));
    const path = (name: string) => join(cluster, 'quire_wal', name);
    const [good = '', damaged = ''] = [1, 2].map((number) => `00000001000000000000000${number}`);
    const repository = {
      read: async function* (name: string) {
        if (name === damaged) throw new DamagedObjectError(`${name} is damaged`);
        yield Buffer.from(name);
      },
    } as unknown as BackupRepository;
    const wal = [good, damaged].map((file) => ({ name: file, file, completeMs: 1 }));
    const feed = await WalFeed.start(cluster, repository, wal);
    context.after(async () => {
      await feed.stop();
      assert.equal(existsSync(path('')), false);
      rmSync(cluster, { recursive: true });
    });
    writeFileSync(path('requested'), good);
    await until(() => existsSync(path(good)) && existsSync(path(`${damaged}.absent`)));
    assert.equal(readFileSync(path(good), 'utf8'), good);
    feed.throwIfFailed();
    writeFileSync(path('requested'), damaged);
    // The feed removes the segment that the server has read.
    await until(() => !existsSync(path(good)));
    assert.throws(() => feed.throwIfFailed(), /is damaged/);
  });
});
