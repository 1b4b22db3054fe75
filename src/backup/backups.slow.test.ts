import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openFolderStore } from '../blobs/folder-store.ts';
import { type EmbeddedDatabase, openEmbedded } from '../db/embedded/open-embedded.ts';
import { archiveSettings } from '../db/embedded/settings.ts';
import { files } from '../files/tables.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import { Backups } from './backups.ts';
import { planRestore } from './plan-restore.ts';
import { baseObjectName } from './repository.ts';
import { readInventory } from './restore-backup.ts';
import { switchWal } from './store.ts';

const never = new AbortController().signal;
const logger = createLogger('silent');
const RETRY_MS = 10 * 60_000;

describe('backups of a database whose target fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-backups-'));
  const target = join(folder, 'target');
  let db: EmbeddedDatabase;
  let blobs: BlobStore;
  let aheadMs = 0;
  before(async () => {
    mkdirSync(join(folder, 'data'));
    const settings = archiveSettings(3600);
    const cluster = join(folder, 'data/postgres');
    db = await openEmbedded({ folder: cluster, logger, settings, onGiveUp: () => {} });
    await db.migrate();
    blobs = await openFolderStore(join(folder, 'blobs'));
    await db.execute('create table filler (value text)');
  });
  after(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });

  const open = async (backupMaxPendingMegabytes = 40, store = blobs) => {
    const config = {
      dataDir: join(folder, 'data'),
      backupUrl: target,
      backupSchedule: null,
      backupKeep: 2,
      backupPassphrase: null,
      backupArchiveSeconds: 3600,
      backupMaxPendingMegabytes,
    };
    const backups = await Backups.open({ db, blobs: store, logger, now: () => Date.now() + aheadMs, config });
    assert.ok(backups !== null);
    return backups;
  };
  /** Completes segments. */
  const fill = async (segments: number) => {
    for (let at = 0; at < segments; at += 1) {
      await db.execute("insert into filler values ('x')");
      await switchWal(db);
    }
  };
  const inventory = async (backups: Backups) => readInventory(await backups.openRepository(never), never);

  it('makes a backup behind the gap as soon as the target responds, after failed ones too', async () => {
    const backups = await open();
    const first = await backups.create();
    await backups.createIfDue(never);
    assert.equal(backups.last?.id, first.id);
    renameSync(target, `${target}-away`);
    writeFileSync(target, 'no folder');
    await fill(1);
    await assert.rejects(backups.archiver.archive(never, 0));
    assert.deepEqual([backups.archiver.hasGap, backups.archiver.droppedSegments], [false, 0]);
    await fill(2);
    const lostMs = Date.now();
    await backups.archiver.limitPending();
    assert.ok(backups.archiver.droppedSegments >= 3);
    await assert.rejects(backups.createIfDue(never));
    assert.deepEqual([backups.archiver.hasGap, backups.failures.base], [true, 1]);

    rmSync(target);
    renameSync(`${target}-away`, target);
    await backups.createIfDue(never);
    assert.equal(backups.last?.id, first.id, 'not before the pause');
    aheadMs += RETRY_MS;
    await backups.createIfDue(never);
    const { last: second } = backups;
    assert.ok(second !== null && second.id !== first.id);
    assert.equal(backups.archiver.hasGap, false);
    await backups.createIfDue(never);
    assert.equal(backups.last, second, 'one backup for one gap');
    const now = await inventory(backups);
    assert.throws(() => planRestore(now, { id: null, atMs: lostMs }), /WAL is missing between .* and the backup of/);
    assert.equal(planRestore(now, { id: null, atMs: second.consistentAt }).backup.id, second.id);

    // Killed before the second backup was complete.
    const repository = await backups.openRepository(never);
    await repository.target.delete(baseObjectName(second.id, 'manifest'), never);
    const next = await open();
    aheadMs += RETRY_MS;
    await next.createIfDue(never);
    assert.ok(next.last !== null && next.last.id !== first.id);
  });

  it('ends with an error when WAL of its own time was given up', async () => {
    const backups = await open(1);
    await assert.rejects(backups.create(), /WAL that the backup needs was given up/);
    assert.equal(backups.archiver.hasGap, true);
    const unlimited = await open();
    aheadMs += RETRY_MS;
    await unlimited.create();
    const { backups: complete } = await inventory(unlimited);
    assert.equal(complete.length, 2, 'the oldest was deleted');
  });

  /** Gives up WAL in the archiver of `backups`. */
  const giveUp = async ({ archiver }: Backups) => {
    await fill(3);
    await archiver.limitPending();
  };

  it('ends with an error when earlier WAL of its own time was given up than the last', async () => {
    await db.sql.insert(files).values({
      id: newId('file'),
      organizationId: newId('organization'),
      filename: 'a.txt',
      purpose: 'knowledge-base',
      bytes: 1,
      sha256: createHash('sha256').update('x').digest('hex'),
      blobKey: 'x',
      status: 'processed',
      createdAt: new Date(),
    });
    const read = async () => {
      if (backups.archiver.droppedSegments === 0) await giveUp(backups);
      return Readable.from([Buffer.from('x')]);
    };
    const backups = await open(40, { read } as unknown as BlobStore);
    aheadMs += RETRY_MS;
    await assert.rejects(backups.create(), /WAL that the backup needs was given up/);
    await db.sql.delete(files);
  });

  it('knows a gap that begins while the target is listed after a backup', async () => {
    const backups = await open();
    const repository = await backups.openRepository(never);
    const listBackups = repository.listBackups.bind(repository);
    repository.listBackups = async (...parameters) => {
      const listed = await listBackups(...parameters);
      if (backups.archiver.droppedSegments === 0) await giveUp(backups);
      return listed;
    };
    aheadMs += RETRY_MS;
    const first = await backups.create();
    assert.equal(backups.archiver.hasGap, true);
    await backups.createIfDue(never);
    assert.notEqual(backups.last?.id, first.id);
    assert.equal(backups.archiver.hasGap, false);
  });
});
