import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../db/db.ts';
import { files } from '../files/tables.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import { openFolderTarget } from './folder-target.ts';
import { BackupRepository, blobObjectName } from './repository.ts';
import type { BackupTarget } from './target.ts';
import { WalArchiver } from './wal-archiver.ts';
import { SEGMENT_BYTES, walObjectName } from './wal-names.ts';

const never = new AbortController().signal;
const NOW = Date.UTC(2026, 10, 24, 10);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const segment = (number: number, timeline = 1) =>
  [timeline, 0, number].map((part) => part.toString(16).toUpperCase().padStart(8, '0')).join('');

describe('the archive of WAL', () => {
  let db: Database;
  let folder: string;
  let marks: string;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-archiver-'));
    marks = join(folder, 'cluster/pg_wal/archive_status');
    mkdirSync(marks, { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Completes a file of WAL `ageMs` before now, as PostgreSQL does. */
  function complete(file: string, ageMs = 60_000): void {
    writeFileSync(join(marks, '..', file), `content of ${file}`);
    const mark = join(marks, `${file}.ready`);
    writeFileSync(mark, '');
    utimesSync(mark, (NOW - ageMs) / 1000, (NOW - ageMs) / 1000);
  }

  const folderTarget = () => openFolderTarget(join(folder, 'target'));

  /** An archiver for `maxSegments` waiting segments. A target of null does not respond. */
  function open(
    target: BackupTarget | null,
    { maxSegments = 3, blobs }: { maxSegments?: number; blobs?: BlobStore } = {},
  ): WalArchiver {
    let repository: BackupRepository | null = null;
    return new WalArchiver({
      db,
      blobs: blobs as BlobStore,
      logger: createLogger('silent'),
      now: () => NOW,
      cluster: join(folder, 'cluster'),
      maxPendingBytes: maxSegments * SEGMENT_BYTES,
      openRepository: async (signal) => {
        if (target === null) throw new Error('connect ECONNREFUSED');
        if (repository === null) {
          repository = await BackupRepository.open(target, null, signal);
          await repository.claim('1', signal);
        }
        return repository;
      },
    });
  }

  const archived = async (target: BackupTarget) =>
    (await Array.fromAsync(target.list('wal/', never))).map(({ name }) => name).sort();
  const object = (file: string, ageMs = 60_000) => walObjectName(file, NOW - ageMs);

  it('stores completed files in their order, and leaves those of this moment and what no restore reads', async () => {
    const target = folderTarget();
    const archiver = open(target);
    complete(segment(2), 500);
    complete(segment(1), 3000);
    complete('00000001.history', 1000);
    complete(`${segment(1)}.00000028.backup`, 5000);
    complete(segment(3), 499);
    writeFileSync(join(marks, `${segment(0)}.done`), '');
    await archiver.archive(never);
    assert.deepEqual(await archived(target), [
      object('00000001.history', 1000),
      object(segment(1), 3000),
      object(segment(2), 500),
    ]);
    assert.deepEqual(
      readdirSync(marks).filter((name) => name.endsWith('.ready')),
      [`${segment(3)}.ready`],
    );
    assert.deepEqual(archiver.pending, { bytes: SEGMENT_BYTES, oldestMs: NOW - 499 });
    assert.deepEqual([archiver.hasGap, archiver.archivedUntilMs, archiver.droppedSegments], [false, NOW - 500, 0]);
  });

  it('keeps WAL for a target that does not respond, up to the limit', async () => {
    const archiver = open(null);
    for (const number of [1, 2, 3]) complete(segment(number));
    await assert.rejects(archiver.archive(never), /ECONNREFUSED/);
    assert.deepEqual([archiver.hasGap, archiver.pending.bytes], [false, 3 * SEGMENT_BYTES]);
    const later = open(folderTarget());
    await later.archive(never);
    assert.equal(readdirSync(marks).filter((name) => name.endsWith('.ready')).length, 0);
    assert.equal(later.hasGap, false);
  });

  it('keeps more WAL than a full disk could take while the disk has space, up to the limit', async () => {
    const archiver = open(null, { maxSegments: 20 });
    for (let number = 1; number <= 20; number += 1) complete(segment(number));
    await archiver.limitPending();
    assert.deepEqual([archiver.hasGap, archiver.pending.bytes], [false, 20 * SEGMENT_BYTES]);
    complete(segment(21));
    await archiver.limitPending();
    assert.deepEqual([archiver.hasGap, archiver.pending.bytes], [true, 0]);
  });

  it('needs a base backup of each timeline', async () => {
    const target = folderTarget();
    complete(segment(1));
    await open(target).archive(never);
    complete(segment(2));
    const same = open(target);
    await same.archive(never);
    complete(segment(3, 2));
    const restored = open(target);
    await restored.archive(never);
    assert.deepEqual([same.hasGap, restored.hasGap], [false, true]);
  });

  it('gives WAL up beyond the limit, so that PostgreSQL removes it, and knows the gap', async () => {
    const target = folderTarget();
    complete(segment(1));
    await open(target).archive(never);
    const archiver = open(null);
    for (const number of [2, 3, 4, 5]) complete(segment(number));
    complete('00000002.history');
    await assert.rejects(archiver.archive(never), /ECONNREFUSED/);
    assert.deepEqual(readdirSync(marks).sort(), [
      ...[1, 2, 3, 4, 5].map((number) => `${segment(number)}.done`),
      '00000002.history.ready',
    ]);
    assert.deepEqual([archiver.hasGap, archiver.droppedSegments, archiver.pending.bytes], [true, 4, 0]);
    // Another process, which did not see the drop, finds the gap in the archive.
    complete(segment(6));
    const next = open(target);
    await next.archive(never);
    assert.deepEqual(await archived(target), [object(segment(1)), object(segment(6)), object('00000002.history')]);
    assert.equal(next.hasGap, true);
  });

  it('gives WAL up while a transfer hangs, and stores nothing of that file', async () => {
    const target = folderTarget();
    const stuck = Promise.withResolvers<void>();
    const hanging: BackupTarget = {
      ...target,
      put: (name, source, signal) => {
        if (!name.startsWith('wal/')) return target.put(name, source, signal);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          stuck.resolve();
        });
      },
    };
    const archiver = open(hanging);
    complete(segment(1));
    const run = archiver.archive(never);
    run.catch(() => {});
    await stuck.promise;
    for (const number of [2, 3]) complete(segment(number));
    await archiver.limitPending();
    assert.deepEqual([archiver.hasGap, archiver.pending.bytes], [false, 3 * SEGMENT_BYTES]);
    complete(segment(4));
    await archiver.limitPending();
    await assert.rejects(run, /given up/);
    assert.deepEqual([archiver.hasGap, archiver.droppedSegments], [true, 4]);
    assert.equal(readdirSync(marks).filter((name) => name.endsWith('.ready')).length, 0);
    assert.deepEqual(await archived(target), []);
  });

  it('rejects WAL of another copy of the database under the same name', async () => {
    const target = folderTarget();
    complete(segment(1));
    await open(target).archive(never);
    // Killed between both steps: the file is archived, and its mark is not renamed.
    complete(segment(1), 1000);
    await open(target).archive(never);
    assert.deepEqual(await archived(target), [object(segment(1))]);
    complete(segment(1), 1000);
    writeFileSync(join(marks, '..', segment(1)), 'another content');
    await assert.rejects(open(target).archive(never), /OperatorError: The backup target .* holds another 0000/);
  });

  it('stores a content again that retention deleted, which waits for a run', async () => {
    const row = {
      id: 'file-again',
      organizationId: newId('organization'),
      filename: 'a.txt',
      purpose: 'knowledge-base' as const,
      bytes: 5,
      sha256: sha256('again'),
      blobKey: 'again',
      status: 'processed' as const,
      createdAt: new Date(NOW),
    };
    const name = blobObjectName(row.sha256);
    const target = folderTarget();
    const blobs = { read: async (key: string) => Readable.from([Buffer.from(key)]) } as unknown as BlobStore;
    const archiver = open(target, { blobs });
    const isStored = async () => (await Array.fromAsync(target.list(name, never))).length === 1;
    await db.sql.insert(files).values(row);
    complete(segment(1));
    const running = archiver.archive(never);
    const wasStored: boolean[] = [];
    await archiver.deleteContent(row.sha256, async () => {
      wasStored.push(await isStored());
      await target.delete(name, never);
      return true;
    });
    await running;
    complete(segment(2));
    await archiver.archive(never);
    assert.deepEqual([...wasStored, await isStored()], [true, true]);
    await assert.rejects(
      archiver.deleteContent('x', () => Promise.reject(new Error('no target'))),
      /no target/,
    );
    await db.sql.delete(files);
  });

  it('ends beside clients that upload faster than it archives, with every file of its segments', async () => {
    const page = 500;
    const names = Array.from({ length: 3 * page }, (_, at) => String(at).padStart(4, '0'));
    const upload = (some: readonly string[], createdAt: Date) =>
      db.sql.insert(files).values(
        some.map((name) => ({
          id: `file-${name}`,
          organizationId: newId('organization'),
          filename: 'a.txt',
          purpose: 'knowledge-base' as const,
          bytes: 4,
          sha256: sha256(name),
          blobKey: name,
          status: 'processed' as const,
          createdAt,
        })),
      );
    const meanwhile = names.slice(page);
    const blobs = {
      read: async (key: string) => {
        const next = meanwhile.shift();
        if (next !== undefined) await upload([next], new Date(NOW + 1));
        return Readable.from([Buffer.from(key)]);
      },
    } as unknown as BlobStore;
    const stored = new Set<string>();
    const target = folderTarget();
    const counting: BackupTarget = {
      ...target,
      put: async (name, source, signal) => {
        if (!name.startsWith('blobs/')) return target.put(name, source, signal);
        for await (const _ of source);
        stored.add(name);
      },
    };
    await upload(names.slice(0, page), new Date(NOW));
    complete(segment(1));
    await open(counting, { blobs }).archive(never);
    assert.deepEqual(
      [...stored].sort(),
      names
        .slice(0, page)
        .map((name) => blobObjectName(sha256(name)))
        .sort(),
    );
  });
});
