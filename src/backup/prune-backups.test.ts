import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import type { Database } from '../db/db.ts';
import { files } from '../files/tables.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import { openFolderTarget } from './folder-target.ts';
import type { BackupManifest } from './manifest.ts';
import { pruneBackups } from './prune-backups.ts';
import { BackupRepository, baseObjectName, blobObjectName, secretsObjectName } from './repository.ts';
import { walObjectName } from './wal-names.ts';

const never = new AbortController().signal;
const logger = createLogger('silent');
const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 10, 20);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const segment = (timeline: number, number: number) =>
  [timeline, 0, number].map((part) => part.toString(16).toUpperCase().padStart(8, '0')).join('');

describe('retention of backups', () => {
  let db: Database;
  let folder: string;
  let repository: BackupRepository;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-prune-'));
    repository = await BackupRepository.open(openFolderTarget(folder), null, never);
    await repository.claim('1', never);
  });
  after(() => rmSync(folder, { recursive: true }));

  const put = (name: string, text: string) => repository.put(name, Readable.from([Buffer.from(text)]), never);
  const names = async (prefix: string) =>
    (await Array.fromAsync(repository.list(prefix, never))).map(({ name }) => name).sort();

  /** A backup `hour` hours after T0 that begins with a segment, and lists the hashes of the texts. */
  async function putBackup(id: string, hour: number, first: string, contents: string[]): Promise<void> {
    const manifest: BackupManifest = {
      format: 1,
      id,
      version: '1',
      startedAt: T0 + hour * HOUR,
      consistentAt: T0 + hour * HOUR + 1000,
      timeline: 1,
      firstSegment: first,
      lastSegment: first,
      folders: [],
      packs: [],
      blobs: { count: contents.length, bytes: 0 },
      hasSecretsKey: true,
    };
    await put(baseObjectName(id, 'pack-0'), id);
    await put(baseObjectName(id, 'blobs'), contents.map((text) => `${sha256(text)} ${text.length}\n`).join(''));
    await put(secretsObjectName(id), 'key');
    await put(baseObjectName(id, 'manifest'), JSON.stringify(manifest));
  }

  /** A content that was archived `hour` hours after T0. */
  async function putContent(text: string, hour: number): Promise<void> {
    const name = blobObjectName(sha256(text));
    await put(name, text);
    const seconds = (T0 + hour * HOUR) / 1000;
    utimesSync(join(folder, name), seconds, seconds);
  }

  const archiver = { deleteContent: (_: string, deleteUnused: () => Promise<boolean>) => deleteUnused() };
  const prune = (keep: number) => pruneBackups({ db, logger, archiver }, repository, keep, never);

  it('keeps the newest backups with the WAL from the oldest of them, and their keys', async () => {
    // Ids do not sort by time, and a restore between b and c has begun a timeline.
    await putBackup('z', 0, segment(1, 3), []);
    await putBackup('b', 24, segment(1, 5), []);
    await putBackup('c', 48, segment(2, 8), []);
    await putBackup('a', 72, segment(2, 9), []);
    await put(baseObjectName('unfinished', 'pack-0'), 'of a backup that is being made');
    const segments = [3, 4, 5, 6, 7].map((number) => segment(1, number)).concat(segment(2, 7), segment(2, 8));
    for (const file of [...segments, '00000002.history']) await put(walObjectName(file, T0), file);
    await prune(2);
    assert.deepEqual(
      (await repository.listBackups(never)).map(({ id }) => id),
      ['c', 'a'],
    );
    const expected = ['a', 'c'].flatMap((id) => ['blobs', 'manifest', 'pack-0'].map((path) => `base/${id}/${path}`));
    assert.deepEqual(await names('base/'), [...expected, 'base/unfinished/pack-0']);
    assert.deepEqual(await names('secrets/'), ['secrets/a.key', 'secrets/c.key']);
    assert.deepEqual(await names('wal/'), [walObjectName('00000002.history', T0), walObjectName(segment(2, 8), T0)]);
    const all = await names('');
    await prune(2);
    assert.deepEqual(await names(''), all);
  });

  it('deletes nothing of fewer backups, and nothing without a backup', async () => {
    await put(walObjectName(segment(1, 1), T0), 'before the first backup');
    await prune(1);
    assert.equal((await names('wal/')).length, 1);
    await putBackup('a', 0, segment(1, 1), []);
    await putBackup('b', 1, segment(1, 2), []);
    const all = await names('');
    await prune(2);
    assert.deepEqual(await names(''), all);
    await prune(1000);
    assert.deepEqual(await names(''), all);
  });

  it('keeps contents that a remaining backup lists, that a file has, and that are new', async () => {
    await putContent('only of the deleted backup', 1);
    await putContent('of a remaining backup', 1);
    await putContent('of a file of today', 1);
    // Created and deleted between the two remaining backups: only the WAL between them knows the file.
    await putContent('between two backups', 30);
    // Within the tolerated difference of clocks.
    await putContent('shortly before the oldest remaining', 23.5);
    await putBackup('a', 2, segment(1, 1), [
      'only of the deleted backup',
      'of a remaining backup',
      'of a file of today',
    ]);
    await putBackup('b', 24, segment(1, 2), ['of a remaining backup']);
    await putBackup('c', 48, segment(1, 3), []);
    await db.sql.insert(files).values({
      id: newId('file'),
      organizationId: newId('organization'),
      filename: 'a.txt',
      purpose: 'knowledge-base',
      bytes: 1,
      sha256: sha256('of a file of today'),
      blobKey: 'key',
      status: 'processed',
      createdAt: new Date(T0),
    });
    await prune(3);
    assert.equal((await names('blobs/')).length, 5);
    await prune(2);
    const kept = [
      'of a remaining backup',
      'of a file of today',
      'between two backups',
      'shortly before the oldest remaining',
    ];
    assert.deepEqual(await names('blobs/'), kept.map((text) => blobObjectName(sha256(text))).sort());
  });
});
